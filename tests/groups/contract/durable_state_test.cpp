// SPDX-License-Identifier: MIT
// Checkpoints and logs of members, and what a restart of all makes of them.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "groups/groups.hpp"
#include "groups/support/log_folder.hpp"
#include "sst/support/table_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using groups::Delivery;
using groups::DurableState;
using groups::LogRecord;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;
using support::TestFolder;

namespace {

std::string folder_of(const TestFolder& folder, std::uint32_t rank) {
  return folder.path() + "/" + std::to_string(rank);
}

/// A state that is all records, as one text, on disk.
struct Diary {
  /// As a member that has taken part in a group.
  static void make_member(const std::string& folder) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/member");
  }
  explicit Diary(const std::string& folder, std::uint64_t checkpoint_every = 1 << 30,
                 std::chrono::milliseconds restart_patience = {}) {
    std::filesystem::create_directories(folder);
    groups::DurableOptions options;
    options.log.folder = folder;
    options.log.group = support::kTestGroup;
    options.log.segment = 4096;
    options.checkpoint_every = checkpoint_every;
    options.restart_patience = restart_patience;
    durable.emplace(
        options, groups::DurableUpcalls{
                     .apply =
                         [this](const LogRecord& record) {
                           if (stops_at == record.sequence) std::raise(SIGSTOP);
                           add(record.bytes);
                         },
                     .snapshot =
                         [this] {
                           const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
                           return std::vector<std::byte>(bytes.begin(), bytes.end());
                         },
                     .restore =
                         [this](std::span<const std::byte> state) {
                           text.assign(reinterpret_cast<const char*>(state.data()), state.size());
                           ++restored;
                         }});
  }
  void add(std::span<const std::byte> bytes) {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  /// As an ordered group would deliver it.
  void deliver(std::uint64_t view, std::uint64_t sequence) {
    const std::string word = "<" + std::to_string(view) + "." + std::to_string(sequence) + ">";
    const Delivery message{view, sequence, {0}, std::as_bytes(std::span(word.data(), word.size()))};
    durable->append(message);
    add(message.bytes);
    durable->applied(view, sequence);
  }
  void deliver_all(std::uint64_t view, std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t i = first; i < end; ++i) deliver(view, i);
  }
  template <class Done>
  void until(const Done& done, const std::string& what) {
    require(support::eventually([&] {
              durable->poll();
              return done();
            }),
            what);
  }

  /// Delivers until a checkpoint has truncated the log; returns the next sequence.
  std::uint64_t deliver_until_truncated(std::uint64_t view) {
    std::uint64_t next = 0;
    until(
        [&] {
          deliver_all(view, next, next + 50);
          next += 50;
          until([&] { return durable->persisted() == next; }, "persisted");
          return durable->log().extent().first != 0;
        },
        "a checkpoint truncates the log");
    return next;
  }

  std::string text;
  int restored = 0;
  /// Stops the process at this record of a log that is read.
  std::optional<std::uint64_t> stops_at;
  std::optional<DurableState> durable;
};

std::string words(std::uint64_t view, std::uint64_t first, std::uint64_t end) {
  std::string text;
  for (std::uint64_t i = first; i < end; ++i) {
    text += "<" + std::to_string(view) + "." + std::to_string(i) + ">";
  }
  return text;
}

/// All start with what is in the folders; what each has afterwards, and where they go on.
void restart_all(const TestFolder& folder, const std::string& text, groups::Restart at,
                 std::optional<std::uint32_t> restored = {}) {
  ForkJob job(3, [&](Member& member) {
    support::TableNode node(member);
    Diary diary(folder_of(folder, member.rank));
    const groups::Restart found = diary.durable->restart(node.group);
    require_equal(found.view, at.view, "view");
    require_equal(found.sequence, at.sequence, "sequence");
    require(diary.text == text, "process " + std::to_string(member.rank) + " has " + diary.text);
    require_equal(diary.durable->log().extent().end, at.sequence, "end of the log");
    require_equal(diary.durable->persisted(), at.sequence, "persisted");
    if (restored == member.rank) require(diary.restored != 0, "it was given the state");
    support::meet(member, 0);
  });
  CHECK(job.wait() == "");
}

}  // namespace

TEST_CASE("a_first_start_begins_at_the_beginning_and_so_does_the_next_one") {
  const TestFolder folder;
  restart_all(folder, "", {1, 0});
  restart_all(folder, "", {1, 0});
}

TEST_CASE("the_longest_log_of_the_latest_view_wins_and_the_others_catch_up") {
  const TestFolder folder;
  {
    for (std::uint32_t i = 0; i < 3; ++i) Diary::make_member(folder_of(folder, i));
    Diary a(folder_of(folder, 0)), b(folder_of(folder, 1)), c(folder_of(folder, 2));
    for (Diary* each : {&a, &b, &c}) each->deliver_all(1, 0, 10);
    // One was left behind in view 1 with a tail that the others have decided against.
    a.deliver_all(1, 10, 40);
    b.deliver_all(2, 10, 20);
    c.deliver_all(2, 10, 25);
  }
  const std::string text = words(1, 0, 10) + words(2, 10, 25);
  restart_all(folder, text, {3, 25});
  restart_all(folder, text, {3, 25});
}

TEST_CASE("a_checkpoint_lets_the_log_forget_and_comes_back_with_the_records_after_it") {
  const TestFolder folder;
  std::string text;
  std::uint64_t next = 0;
  Diary::make_member(folder_of(folder, 0));
  {
    Diary diary(folder_of(folder, 0), 2000);
    next = diary.deliver_until_truncated(1);
    CHECK(diary.durable->checkpoint() >= diary.durable->log().extent().first);
    diary.deliver_all(1, next, next + 10);
    next += 10;
    text = diary.text;
  }
  for (const std::uint32_t rank : {1u, 2u}) {
    std::filesystem::copy(folder_of(folder, 0), folder_of(folder, rank));
  }
  restart_all(folder, text, {2, next}, 2);
}

TEST_CASE("who_lacks_what_is_in_checkpoints_only_is_given_the_state") {
  const TestFolder folder;
  std::uint64_t end = 0;
  std::string text;
  for (std::uint32_t i = 0; i < 2; ++i) Diary::make_member(folder_of(folder, i));
  {
    Diary a(folder_of(folder, 0), 2000);
    end = a.deliver_until_truncated(1);
    text = a.text;
    // The second has the beginning; the third lost its disk.
    Diary b(folder_of(folder, 1));
    b.deliver_all(1, 0, 3);
  }
  restart_all(folder, text, {2, end}, 1);
  restart_all(folder, text, {2, end}, 2);
}

TEST_CASE("without_a_majority_of_the_logs_nobody_goes_on") {
  const TestFolder folder;
  Diary::make_member(folder_of(folder, 0));
  Diary(folder_of(folder, 0)).deliver_all(1, 0, 5);
  // And trying again does not help: the empty logs that were made are no members' logs.
  for (int i = 0; i < 2; ++i) {
    ForkJob job(3, [&](Member& member) {
      support::TableNode node(member);
      Diary diary(folder_of(folder, member.rank));
      // Who is told last may only see that the others have given up.
      const std::string error =
          support::error_text([&] { (void)diary.durable->restart(node.group); });
      require(error.find("only 1 of 3 members have a log") != std::string::npos ||
                  error.find("restart of a group") != std::string::npos,
              error);
      support::meet(member, 0);
    });
    CHECK(job.wait() == "");
  }
}

TEST_CASE("a_member_that_is_stopped_in_a_restart_ends_it_for_all") {
  const TestFolder folder;
  for (const std::uint32_t rank : {0u, 1u, 2u}) {
    Diary::make_member(folder_of(folder, rank));
    Diary(folder_of(folder, rank)).deliver_all(1, 0, 3 + rank);
  }
  ForkJob job(3, [&](Member& member) {
    support::TableNode node(member);
    Diary diary(folder_of(folder, member.rank), 1 << 30, std::chrono::seconds(1));
    // It has the longest log, and the others wait for its records.
    if (member.rank == 2) diary.stops_at = 4;
    const std::string error =
        support::error_text([&] { (void)diary.durable->restart(node.group); });
    require(error.find("restart of a group") != std::string::npos, error);
    support::meet(member, 0);
  });
  CHECK(support::eventually([&] { return job.memory().words[0] == 2; }));
  job.resume(2);
  CHECK(job.wait() == "");
}

TEST_CASE("an_empty_log_of_a_member_counts") {
  const TestFolder folder;
  restart_all(folder, "", {1, 0});
  Diary(folder_of(folder, 0)).deliver_all(1, 0, 5);
  restart_all(folder, words(1, 0, 5), {2, 5});
}

TEST_CASE("a_log_without_its_checkpoint_is_refused") {
  const TestFolder folder;
  {
    Diary a(folder_of(folder, 0), 2000);
    (void)a.deliver_until_truncated(1);
  }
  std::filesystem::remove(folder_of(folder, 0) + "/checkpoint");
  CHECK(support::error_text([&] {
          Diary again(folder_of(folder, 0));
        }).find("there is no checkpoint of all before it") != std::string::npos);
}
