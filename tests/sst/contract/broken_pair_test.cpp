// SPDX-License-Identifier: MIT
// A queue pair of a TableGroup breaks while those of the fabric live: its peer has failed, unless
// it has ended its TableGroup.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "dtutils/simulation.hpp"
#include "dtutils/wait.hpp"
#include "sst/support/table_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using namespace sst;
using support::CountRow;
using support::evaluate_until;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWatch{10};

/// A process of a job with a table, which keeps in mind who has failed.
struct Watcher {
  explicit Watcher(Member& member, const TableOptions& options = {},
                   milliseconds watch_interval = kWatch)
      // The fewest threads: the one that looks for broken pairs is none of them.
      : fabric(member.join(config(watch_interval))),
        group(std::in_place, fabric, TableGroupOptions{.threads = 1}),
        table(std::in_place, *group, options) {
    table->on_failure([this](MemberId failed, const std::string& reason) {
      require(!reason.empty(), "there is a reason");
      told.push_back(failed);
    });
  }
  static dsfabric::Config config(milliseconds watch_interval) {
    dsfabric::Config config = support::one_worker();
    config.watch_interval = watch_interval;
    return config;
  }
  /// As a fault of the network would do it, at this end, and of this pair alone.
  void break_pair(std::uint16_t peer) { group->transmitter({peer}).queue_pair().disconnect(); }
  void await_told(const std::vector<MemberId>& whom) {
    evaluate_until(
        *table, [&] { return told.size() >= whom.size(); }, "it is told");
    for (const MemberId member : whom) {
      require(std::ranges::find(told, member) != told.end(), "it is told of the right ones");
      require(table->frozen(member), "it is cut off");
    }
  }
  /// Until the fabric has looked at its peers several times.
  void look_on() {
    const auto end = dtutils::Clock::now() + 5 * kWatch;
    evaluate_until(
        *table, [&] { return dtutils::Clock::now() > end; }, "the time passes");
  }

  dsfabric::Fabric fabric;
  std::optional<TableGroup> group;
  std::optional<Table<CountRow>> table;
  std::vector<MemberId> told;
};

}  // namespace

TEST_CASE("a_pair_of_the_tables_that_breaks_is_told_of_at_both_ends_though_nobody_pushes") {
  const Mode mode = GENERATE(Mode::kWrites, Mode::kReads);
  ForkJob job(3, [mode](Member& member) {
    Watcher node(member, {.mode = mode});
    support::meet(member, 0);
    if (member.rank == 0) node.break_pair(1);
    if (member.rank != 2) node.await_told({{static_cast<std::uint16_t>(1 - member.rank)}});
    support::meet(member, 1);
    node.look_on();
    // The third one sees both as before, and believes nothing of the kind.
    node.table->set(&CountRow::count, 1);
    if (member.rank == 2) {
      evaluate_until(
          *node.table, [&] { return node.table->min(&CountRow::count) == 1; }, "both push");
    }
    require_equal(node.told.size(), member.rank == 2 ? 0u : 1u, "failures that were told");
    support::meet(member, 2);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("two_pairs_that_break_are_told_of_once_each") {
  ForkJob job(4, [](Member& member) {
    Watcher node(member);
    support::meet(member, 0);
    if (member.rank == 0) {
      node.break_pair(1);
      node.break_pair(2);
      node.await_told({{1}, {2}});
    } else if (member.rank != 3) {
      // Of one of them the other end breaks too.
      if (member.rank == 1) node.break_pair(0);
      node.await_told({{0}});
    }
    support::meet(member, 1);
    node.look_on();
    constexpr std::size_t kFailures[] = {2, 1, 1, 0};
    require_equal(node.told.size(), kFailures[member.rank], "failures that were told");
    support::meet(member, 2);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("who_pushes_to_a_peer_whose_end_has_broken_is_told") {
  ForkJob job(2, [](Member& member) {
    // This one never looks by itself.
    Watcher node(member, {}, member.rank == 0 ? std::chrono::hours(1) : kWatch);
    support::meet(member, 0);
    if (member.rank == 0) node.break_pair(1);
    support::meet(member, 1);
    if (member.rank == 1) {
      node.table->set(&CountRow::count, 1);
      node.await_told({{0}});
      require(node.fabric.failure_reason({0}).find("tables broke") != std::string::npos,
              node.fabric.failure_reason({0}));
    } else {
      node.await_told({{1}});
      require_equal(node.table->get({1}, &CountRow::count), 0u, "what was pushed has not arrived");
    }
    support::meet(member, 2);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_process_that_ends_its_group_early_has_not_failed") {
  ForkJob job(3, [](Member& member) {
    Watcher node(member);
    support::meet(member, 0);
    if (member.rank == 1) {
      node.table.reset();
      node.group.reset();
    }
    support::meet(member, 1);
    if (member.rank == 1) {
      // Its fabric serves as before, and hears of nothing bad, for as long as the others try.
      require(support::eventually([&] {
                node.fabric.progress();
                return member.memory.words[2] == 2;
              }),
              "the others are done");
    } else {
      dtutils::Transmitter& gone = node.group->transmitter({1});
      require(support::eventually([&] {
                node.table->set(&CountRow::count, 5);
                while (gone.progress()) {
                }
                return gone.broken();
              }),
              "nobody takes pushes there any more");
      node.look_on();
      const MemberId other{static_cast<std::uint16_t>(2 - member.rank)};
      evaluate_until(
          *node.table, [&] { return node.table->get(other, &CountRow::count) == 5; },
          "the other one pushes on");
      require(!node.table->frozen({1}), "it is not cut off");
      const std::string text =
          support::error_text([&] { Table<CountRow> late(*node.group, {.name = "late"}); });
      require(text.find("process 1") != std::string::npos &&
                  text.find("ended its TableGroup") != std::string::npos,
              text);
      member.memory.words[2]++;
    }
    require_equal(node.told.size(), 0u, "failures that were told");
    require_equal(node.fabric.failures(), 0u, "failures");
    support::meet(member, 3);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_stopped_process_whose_pair_breaks_is_told_when_it_wakes_and_writes_no_more") {
  enum Point : std::size_t { kMade, kAsleep, kGivenUp, kAwake, kEnd };
  ForkJob job(3, [](Member& member) {
    Watcher node(member);
    auto& words = member.memory.words;
    support::meet(member, kMade);
    if (member.rank == 1) {
      node.await_told({{0}});
      node.table->set(&CountRow::count, 99);
      words[kAwake] = 1;
    } else {
      evaluate_until(
          *node.table, [&] { return words[kAsleep] == 1; }, "it is stopped");
      node.look_on();
      // To be stopped is no failure.
      node.table->set(&CountRow::count, 1);
      require_equal(node.fabric.failures(), 0u, "failures");
      if (member.rank == 0) {
        node.break_pair(1);
        node.await_told({{1}});
        words[kGivenUp] = 1;
      }
      evaluate_until(
          *node.table,
          [&] {
            return words[kAwake] == 1 &&
                   (member.rank == 0 || node.table->get({1}, &CountRow::count) == 99);
          },
          "it has woken, and pushes to who has not given it up");
      require(member.rank == 2 || node.table->get({1}, &CountRow::count) == 0, "the row is frozen");
    }
    support::meet(member, kEnd);
  });
  REQUIRE(support::eventually([&] { return job.memory().words[kMade] == 3; }));
  job.stop(1);
  job.memory().words[kAsleep] = 1;
  REQUIRE(support::eventually([&] { return job.memory().words[kGivenUp] == 1; }));
  job.resume(1);
  CHECK(job.wait() == "");
}

TEST_CASE("a_cut_of_the_network_between_two_looks_of_the_fabric_loses_nothing_silently") {
  if (!support::on_simulated_device()) {
    WARN("SKIPPED: only a simulated network can be cut");
    return;
  }
  using std::chrono::seconds;
  ForkJob job(2, [](Member& member) {
    Watcher node(member, {}, seconds(10));
    support::meet(member, 0);
    const auto& nodes = member.memory.letters.nodes;
    if (member.rank == 0) {
      dtutils::Simulation::current()->cut(nodes[0], nodes[1], seconds(3));
      node.table->set(&CountRow::count, 7);
      dtutils::sleep_for(seconds(4));
      member.memory.words[1] = 1;
    }
    require(support::eventually([&] { return member.memory.words[1] == 1; }), "the cut is over");
    require_equal(node.fabric.failures(), 0u, "failures that the fabric has seen");
    require_equal(node.table->get({0}, &CountRow::count), member.rank == 0 ? 7u : 0u, "the count");
    node.await_told({{static_cast<std::uint16_t>(1 - member.rank)}});
    support::meet(member, 2);
  });
  CHECK(job.wait() == "");
}
