// SPDX-License-Identifier: MIT
// A member dies: its row stays, everybody is told once, and the others make a new table.
#include <malloc.h>

#include <optional>

#include "dtutils/clock.hpp"
#include "dtutils/wait.hpp"
#include "sst/support/table_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/threads.hpp"

using namespace sst;
using dsfabric::ProcessId;
using support::CountRow;
using support::evaluate_until;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;
using support::TableNode;

namespace {

struct NewRow {
  std::uint32_t before;
  double load;
};

/// The survivors have come to the same point.
void meet_survivors(Member& member, std::size_t word) {
  member.memory.words[word]++;
  require(support::eventually([&] { return member.memory.words[word] >= member.size - 1; }),
          "the survivors came");
}

}  // namespace

TEST_CASE("a_dead_member_is_told_of_once_and_its_row_stays") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    Table<CountRow> table(node.group);
    std::vector<MemberId> told;
    table.on_failure([&](MemberId failed, const std::string& reason) {
      require(!reason.empty(), "there is a reason");
      told.push_back(failed);
    });
    table.set(&CountRow::count, 7 + member.rank);
    evaluate_until(
        table, [&] { return table.min(&CountRow::count) >= 7; }, "all have pushed");
    member.memory.words[0]++;
    require(support::eventually([&] { return member.memory.words[0] == 3; }), "all have seen it");
    if (member.rank == 1) member.die();
    evaluate_until(
        table, [&] { return !told.empty(); }, "the upcall");
    require(table.frozen({1}), "it is frozen");
    // Pushes go on to the one that lives.
    for (std::uint64_t i = 100; i < 1100; ++i) table.set(&CountRow::count, i);
    const MemberId other{static_cast<std::uint16_t>(2 - member.rank)};
    evaluate_until(
        table, [&] { return table.get(other, &CountRow::count) == 1099; }, "the other one");
    require_equal(table.get({1}, &CountRow::count), 8u, "row of the dead");
    require(told == std::vector<MemberId>{{1}}, "told once, of it alone");
    int late = 0;
    table.on_failure([&](MemberId, const std::string&) { ++late; });
    require_equal(late, 1, "who asks later is told at once");
    meet_survivors(member, 1);
  });
  CHECK(job.wait() == "1: signal 9\n");
}

TEST_CASE("each_death_is_told_of_once_by_itself") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    Table<CountRow> table(node.group);
    std::vector<MemberId> told;
    table.on_failure([&](MemberId failed, const std::string&) { told.push_back(failed); });
    support::meet(member, 0);
    if (member.rank == 1) member.die();
    if (member.rank == 2) {
      require(support::eventually([&] { return member.memory.words[1] != 0; }), "its turn");
      member.die();
    }
    evaluate_until(
        table, [&] { return told.size() == 1; }, "the first death");
    member.memory.words[1] = 1;
    evaluate_until(
        table, [&] { return told.size() >= 2; }, "the second death");
    require(told == std::vector<MemberId>{{1}, {2}}, "each of them once");
  });
  CHECK(job.wait() == "1: signal 9\n2: signal 9\n");
}

TEST_CASE("a_frozen_row_changes_no_more_though_its_owner_lives_and_pushes_on") {
  for (int round = 0; round < 5; ++round) {
    ForkJob job(2, [](Member& member) {
      TableNode node(member);
      Table<CountRow> table(node.group);
      auto& words = member.memory.words;
      if (member.rank == 1) {
        for (std::uint64_t i = 1; words[0] == 0; ++i) table.set(&CountRow::count, i);
        return;
      }
      evaluate_until(
          table, [&] { return table.get({1}, &CountRow::count) > 100; }, "it pushes");
      node.fabric.fail({1}, "given up");
      require(support::eventually([&] { return table.frozen({1}); }), "it is cut off");
      const std::uint64_t last = table.get({1}, &CountRow::count);
      dtutils::sleep_for(std::chrono::milliseconds(5));
      const std::uint64_t now = table.get({1}, &CountRow::count);
      words[0] = 1;
      require_equal(now, last, "count of the frozen row");
    });
    CHECK(job.wait() == "");
  }
}

TEST_CASE("a_group_may_end_in_the_moment_in_which_a_member_is_given_up") {
  for (int round = 0; round < 6; ++round) {
    ForkJob job(4, [&](Member& member) {
      dsfabric::Fabric fabric = member.join(support::one_worker());
      std::optional<TableGroup> group(fabric);
      support::meet(member, 0);
      if (member.rank == 0) {
        support::Threads threads;
        threads.start([&] { fabric.fail({3}, "given up"); });
        dtutils::sleep_for(std::chrono::microseconds(40 * round));
        group.reset();
        threads.join();
        require(fabric.failed({3}), "it is given up");
      }
      // Nobody leaves before: who has left can not be given up.
      group.reset();
      support::meet(member, 1);
    });
    CHECK(job.wait() == "");
  }
}

TEST_CASE("survivors_make_a_new_table_with_another_row") {
  ForkJob job(4, [](Member& member) {
    TableNode node(member);
    auto old = std::make_unique<Table<CountRow>>(node.group);
    old->set(&CountRow::count, 10 + member.rank);
    evaluate_until(
        *old, [&] { return old->min(&CountRow::count) >= 10; }, "all have pushed");
    member.memory.words[0]++;
    require(support::eventually([&] { return member.memory.words[0] == 4; }), "all have seen it");
    if (member.rank == 2) member.die();
    evaluate_until(
        *old, [&] { return node.fabric.failed({2}); }, "noticed");
    const std::vector<ProcessId> members{{0}, {1}, {3}};
    Table<NewRow> table(*old, members, [](const CountRow& row) {
      return NewRow{static_cast<std::uint32_t>(row.count), 0.5};
    });
    require_equal(table.sum(&NewRow::before), 10u + 11 + 13, "own rows were carried over");
    old.reset();
    table.set(&NewRow::load, 2);
    evaluate_until(
        table, [&] { return table.min(&NewRow::load) == 2; }, "it works");
    meet_survivors(member, 1);
  });
  CHECK(job.wait() == "2: signal 9\n");
}

TEST_CASE("a_member_that_dies_while_a_table_is_made_is_named") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    if (member.rank == 2) member.die();
    ProcessId named{};
    try {
      const Table<CountRow> table(node.group);
    } catch (const dsfabric::PeerFailed& failed) {
      named = failed.process();
    }
    require(named == ProcessId{2}, "PeerFailed names it");
    // And without it a table can be made.
    const Table<CountRow> table(node.group, {.members = {{0}, {1}}}, {member.rank});
    require_equal(table.max(&CountRow::count), 1u, "of the two that are left");
    meet_survivors(member, 0);
  });
  CHECK(job.wait() == "2: signal 9\n");
}

TEST_CASE("who_has_all_of_a_dead_member_does_not_wait_for_those_who_have_not") {
  // Process 2 stands for one that gave the first table up, because of the death of process 1.
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    const TableOptions survivors{.members = {{0}, {2}}, .name = "survivors"};
    if (member.rank == 1) {
      support::Threads threads;
      threads.start([&] {
        dtutils::sleep_for(std::chrono::milliseconds(100));
        member.die();
      });
      const Table<CountRow> table(node.group);
    }
    if (member.rank == 2) {
      const auto knows = [&] {
        node.fabric.progress();
        return node.fabric.failed({1});
      };
      require(support::eventually(knows), "the death is noticed");
    }
    std::string text;
    const auto begin = dtutils::Clock::now();
    if (member.rank == 0) text = support::error_text([&] { Table<CountRow> table(node.group); });
    const auto passed = dtutils::Clock::now() - begin;
    if (member.rank == 0) {
      require(text.find("process 1") != std::string::npos, text);
      require(passed < support::kPatience, "it waits for no time limit");
    }
    const Table<CountRow> table(node.group, survivors, {member.rank});
    require_equal(table.max(&CountRow::count), 2u, "of the two that are left");
    meet_survivors(member, 0);
  });
  CHECK(job.wait() == "1: signal 9\n");
}

TEST_CASE("a_member_joins_by_a_new_table") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    const std::vector<ProcessId> all{{0}, {1}, {2}};
    std::unique_ptr<Table<CountRow>> table;
    if (member.rank != 2) {
      const Table<CountRow> old(node.group, {.members = {{0}, {1}}}, {5});
      table = std::make_unique<Table<CountRow>>(
          old, all, [](const CountRow& row) { return CountRow{row.count + 1}; });
    } else {
      table =
          std::make_unique<Table<CountRow>>(node.group, TableOptions{.members = all}, CountRow{9});
    }
    require_equal(table->min(&CountRow::count), 6u, "rows of the old members");
    require_equal(table->get({2}, &CountRow::count), 9u, "row of the new one");
    support::meet(member, 0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("thousands_of_tables_that_have_ended_leave_nothing_at_the_fabric") {
  ForkJob job(1, [](Member& member) {
    dsfabric::Fabric fabric = member.join(support::one_worker());
    const auto make_tables = [&](int count) {
      for (int i = 0; i < count; ++i) {
        TableGroup group(fabric);
        Table<CountRow> table(group);
        table.on_failure([](MemberId, const std::string&) {});
      }
    };
    // What grows at first is kept for the next ones.
    make_tables(10);
    const std::size_t before = mallinfo2().uordblks;
    const std::size_t registered = fabric.general_allocator().in_use();
    // So many that a word for each of them is more than the heap takes once for each thread: a
    // thread of the fabric may run for the first time, and get a heap of its own, only now.
    constexpr std::size_t kTables = 4000;
    make_tables(kTables);
    const std::size_t after = mallinfo2().uordblks;
    require(after < before + sizeof(void*) * kTables,
            std::to_string(after - before) + " bytes are left");
    require_equal(fabric.general_allocator().in_use(), registered, "registered bytes");
  });
  CHECK(job.wait() == "");
}
