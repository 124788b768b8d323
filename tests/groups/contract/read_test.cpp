// SPDX-License-Identifier: MIT
// Reads without messages: what they see, and when they must not run.
#include "groups/support/ordered_job.hpp"
#include "groups/support/read_check.hpp"
#include "support/catch.hpp"

using groups::GroupState;
using support::ForkJob;
using support::Histories;
using support::Member;
using support::OrderedNode;
using support::ReadCheck;
using support::require;
using support::require_equal;

namespace {

enum ReadWord : std::size_t { kAllReady, kReadsDone, kAnywhere, kOthersRead };

}  // namespace

TEST_CASE("a_read_sees_what_any_member_had_delivered_before_it_though_one_dies") {
  constexpr std::uint64_t kReads = 20;
  for (const std::uint32_t victim : {0u, 2u, 3u}) {
    const Histories histories;
    ForkJob job(3, [&](Member& member) {
      OrderedNode node(member, histories, {.max_message = 16, .slots = 8});
      ReadCheck reads(member.memory.words[kAnywhere]);
      const auto read_until = [&](std::uint64_t count) {
        node.progress_while(
            [&] {
              reads.step(node.ordered);
              (void)node.try_send();
              return reads.reads < count;
            },
            "reads run");
      };
      read_until(kReads);
      if (member.rank == victim) member.die();
      node.progress_while([&] { return victim < 3 && node.ordered.view().id < 2; }, "next view");
      read_until(2 * kReads);
      node.meet(kReadsDone, victim < 3 ? 2 : 3);
    });
    CHECK(job.wait() == (victim < 3 ? std::to_string(victim) + ": signal 9\n" : ""));
    CHECK(histories.check(3) == "");
  }
}

TEST_CASE("a_read_needs_no_message_and_no_more_than_a_majority") {
  const Histories histories;
  ForkJob job(3, [&](Member& member) {
    OrderedNode node(member, histories, {.max_message = 16});
    node.meet(kAllReady, 3);
    if (member.rank == 2) {
      // It makes no progress, and nobody takes it for dead.
      require(support::eventually([&] { return member.memory.words[kOthersRead] == 2; }),
              "they read");
    } else {
      const std::uint64_t ticket = node.ordered.begin_read();
      require(node.ordered.readable() < ticket, "nobody has answered yet");
      node.progress_while([&] { return node.ordered.readable() < ticket; }, "it may run");
      const std::uint64_t later = node.ordered.begin_read();
      require(later > ticket && node.ordered.readable() < later, "a later one asks anew");
      node.progress_while([&] { return node.ordered.readable() < later; }, "it may run, too");
      require_equal(node.ordered.next_sequence(), 1u, "no message was sent");
      ++member.memory.words[kOthersRead];
    }
    node.meet(kReadsDone, 3);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_member_that_the_others_have_removed_does_not_read") {
  const Histories histories;
  ForkJob job(3, [&](Member& member) {
    OrderedNode node(member, histories,
                     {.max_message = 16, .patience = std::chrono::milliseconds(1000)});
    auto& words = member.memory.words;
    node.meet(kAllReady, 3);
    if (member.rank == 2) {
      require(support::eventually([&] { return words[kOthersRead] == 2; }), "the others go on");
      const std::uint64_t ticket = node.ordered.begin_read();
      node.progress_while(
          [&] {
            require(node.ordered.readable() < ticket, "what it has is old");
            return node.ordered.state() == GroupState::kWorking ||
                   node.ordered.state() == GroupState::kChanging;
          },
          "it is told");
      for (int i = 0; i < 1000; ++i) node.step();
      require(node.ordered.readable() < ticket, "what it has is old, and stays so");
      words[kReadsDone] = 1;
      return;
    }
    node.progress_while([&] { return node.ordered.view().id < 2; }, "it is removed");
    require(node.try_send() == groups::SendStatus::kAccepted, "they go on");
    node.progress_while([&] { return node.ordered.undelivered() != 0; }, "it is delivered");
    ++words[kOthersRead];
    node.progress_while([&] { return words[kReadsDone] == 0; }, "it has tried");
  });
  CHECK(job.wait() == "");
  CHECK(histories.check(3) == "");
}
