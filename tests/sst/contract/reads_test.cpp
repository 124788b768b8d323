// SPDX-License-Identifier: MIT
// SST-reads: owners only store, everybody else fetches.
#include "dtutils/clock.hpp"
#include "sst/support/table_job.hpp"
#include "support/catch.hpp"

using namespace sst;
using support::evaluate_until;
using support::ForkJob;
using support::meet;
using support::Member;
using support::require;
using support::require_equal;
using support::TableNode;

namespace {

struct ReadRow {
  std::uint64_t count;
  Versioned<std::array<std::uint64_t, 6>> wide;
  std::uint32_t large[300];
};
const TableOptions kReads{.members = {}, .mode = Mode::kReads, .name = "read"};

}  // namespace

TEST_CASE("readers_fetch_what_owners_store") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    Table<ReadRow> table(node.group, kReads);
    const std::uint64_t mine = 100 + member.rank;
    table.set(&ReadRow::wide, {mine, mine, mine, mine, mine, mine});
    table.set(&ReadRow::large, 299, member.rank + 1);
    table.set(&ReadRow::count, mine);
    table.push();
    for (std::uint16_t i = 0; i < 3; ++i) {
      evaluate_until(
          table, [&] { return table.get({i}, &ReadRow::count) == 100u + i; }, "count");
      evaluate_until(
          table, [&] { return table.get({i}, &ReadRow::wide)[5] == 100u + i; }, "wide");
      evaluate_until(
          table, [&] { return table.get({i}, &ReadRow::large, 299) == i + 1u; }, "large");
    }
    meet(member, 0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_reader_fetches_while_a_detector_evaluates") {
  ForkJob job(2, [](Member& member) {
    TableNode node(member);
    Table<ReadRow> table(node.group, kReads);
    std::atomic<bool> done{false};
    table.when([](const auto& t) { return t.min(&ReadRow::count) >= t.mine(&ReadRow::count); })
        .recurrent([&](auto& t) {
          t.set(&ReadRow::count, t.mine(&ReadRow::count) + 1);
          done = t.mine(&ReadRow::count) > 200;
        });
    PollingThread reader(node.fabric, {table.refresh_hook()});
    PollingThread detector(node.fabric, {table.hook()});
    require(support::eventually([&] { return done.load(); }), "they counted to 200 together");
    detector.stop();
    reader.stop();
    // The other one may still need to read the last count.
    meet(member, 0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("the_pace_is_the_least_time_between_refreshes") {
  ForkJob job(2, [](Member& member) {
    TableNode node(member);
    Table<ReadRow> table(node.group, kReads);
    using dtutils::Clock;
    const MemberId other{static_cast<std::uint16_t>(1 - member.rank)};
    table.set_pace(std::chrono::milliseconds(40));
    std::uint64_t seen = 0;
    int changes = 0;
    const auto begin = Clock::now();
    while (Clock::now() - begin < std::chrono::milliseconds(200)) {
      table.set(&ReadRow::count, table.mine(&ReadRow::count) + 1);
      table.evaluate();
      const std::uint64_t now = table.get(other, &ReadRow::count);
      changes += now != seen;
      seen = now;
    }
    const auto took = Clock::now() - begin;
    require(changes <= took / std::chrono::milliseconds(40) + 1, "not more often");
    meet(member, 0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_reader_goes_on_without_a_member_that_died") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    Table<ReadRow> table(node.group, kReads);
    table.set(&ReadRow::count, 5);
    evaluate_until(
        table, [&] { return table.min(&ReadRow::count) == 5; }, "all have stored");
    meet(member, 0);
    if (member.rank == 2) member.die();
    evaluate_until(
        table, [&] { return node.fabric.failed({2}); }, "it is noticed");
    table.set(&ReadRow::count, 6);
    const MemberId other{static_cast<std::uint16_t>(1 - member.rank)};
    evaluate_until(
        table, [&] { return table.get(other, &ReadRow::count) == 6; }, "the other lives");
    require_equal(table.get({2}, &ReadRow::count), 5u, "the last value of the dead");
    member.memory.words[1]++;
    require(support::eventually([&] { return member.memory.words[1] == 2; }), "both are done");
  });
  CHECK(job.wait() == "2: signal 9\n");
}

TEST_CASE("what_a_failed_fetch_leaves_behind_is_no_row") {
  ForkJob job(2, [](Member& member) {
    TableNode node(member);
    ReadRow first{};
    first.count = 7;
    Table<ReadRow> table(node.group, kReads, first);
    meet(member, 0);
    if (member.rank == 1) member.die();
    // Nothing was fetched before the connection broke.
    require(support::eventually([&] { return node.fabric.failed({1}); }), "it is noticed");
    evaluate_until(
        table, [&] { return node.group.transmitter({1}).broken(); }, "a fetch fails");
    for (int i = 0; i < 3; ++i) table.evaluate();
    require_equal(table.get({1}, &ReadRow::count), 7u, "the row as it was at first");
  });
  CHECK(job.wait() == "1: signal 9\n");
}
