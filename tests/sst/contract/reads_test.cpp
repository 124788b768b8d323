// SPDX-License-Identifier: MIT
// SST-reads: owners only store, everybody else fetches.
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

struct Row {
  std::uint64_t count;
  Wide<std::array<std::uint64_t, 6>> wide;
  std::uint32_t large[300];
};
const TableOptions kReads{.members = {}, .mode = Mode::kReads, .name = "read"};

}  // namespace

TEST_CASE("readers_fetch_what_owners_store") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    Table<Row> table(node.space, kReads);
    const std::uint64_t mine = 100 + member.rank;
    table.set(&Row::wide, {mine, mine, mine, mine, mine, mine});
    table.set(&Row::large, 299, member.rank + 1);
    table.set(&Row::count, mine);
    table.push();
    for (std::uint16_t i = 0; i < 3; ++i) {
      evaluate_until(
          table, [&] { return table.get({i}, &Row::count) == 100u + i; }, "count");
      evaluate_until(
          table, [&] { return table.get({i}, &Row::wide)[5] == 100u + i; }, "wide");
      evaluate_until(
          table, [&] { return table.get({i}, &Row::large, 299) == i + 1u; }, "large");
    }
    meet(member, 0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_reader_fetches_while_a_detector_evaluates") {
  ForkJob job(2, [](Member& member) {
    TableNode node(member);
    Table<Row> table(node.space, kReads);
    std::atomic<bool> done{false};
    table.when([](const auto& t) { return t.min(&Row::count) >= t.mine(&Row::count); })
        .recurrent([&](auto& t) {
          t.set(&Row::count, t.mine(&Row::count) + 1);
          done = t.mine(&Row::count) > 200;
        });
    Reader reader(node.fabric, {table.refresh_hook()});
    Detector detector(node.fabric, {table.hook()});
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
    Table<Row> table(node.space, kReads);
    using Clock = std::chrono::steady_clock;
    const MemberId other{static_cast<std::uint16_t>(1 - member.rank)};
    table.set_pace(std::chrono::milliseconds(40));
    std::uint64_t seen = 0;
    int changes = 0;
    const auto begin = Clock::now();
    while (Clock::now() - begin < std::chrono::milliseconds(200)) {
      table.set(&Row::count, table.mine(&Row::count) + 1);
      table.evaluate();
      const std::uint64_t now = table.get(other, &Row::count);
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
    Table<Row> table(node.space, kReads);
    table.set(&Row::count, 5);
    evaluate_until(
        table, [&] { return table.min(&Row::count) == 5; }, "all have stored");
    meet(member, 0);
    if (member.rank == 2) ::kill(getpid(), SIGKILL);
    evaluate_until(
        table, [&] { return node.fabric.failed({2}); }, "it is noticed");
    table.set(&Row::count, 6);
    const MemberId other{static_cast<std::uint16_t>(1 - member.rank)};
    evaluate_until(
        table, [&] { return table.get(other, &Row::count) == 6; }, "the other lives");
    require_equal(table.get({2}, &Row::count), 5u, "the last value of the dead");
    member.memory.words[1]++;
    require(support::eventually([&] { return member.memory.words[1] == 2; }), "both are done");
  });
  CHECK(job.wait() == "2: signal 9\n");
}
