// SPDX-License-Identifier: MIT
// Rows: everybody sees what everybody pushed, field by field, in order.
#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "sst/support/table_job.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

using namespace sst;
using dsfabric::ProcessId;
using support::evaluate_until;
using support::ForkJob;
using support::meet;
using support::Member;
using support::require;
using support::require_equal;
using support::TableNode;

namespace {

enum class Colour : std::uint8_t { kNone, kRed };
struct Point {
  double x, y, z;
};
struct MixedRow {
  std::uint64_t count;
  std::int32_t level;
  bool ready;
  Colour colour;
  double load;
  std::uint16_t votes[5];
  Versioned<Point> place;
  std::array<std::uint32_t, 100> large;
};

std::uint64_t rank_of(const Table<MixedRow>& table, MemberId member) {
  return table.process(member).value;
}

struct Pair {
  std::uint64_t first, second;
};
template <std::size_t N>
struct PairsRow {
  std::uint64_t round;
  Versioned<Pair> one;
  Versioned<Pair> few[2];
  std::uint64_t rest[N];
};

/// Member 1 stores up to five values and pushes them, in each way that there is; member 0 looks at
/// its copy after each push.
template <class Row>
void check_last_two_pushes(Member& member, TableNode& node) {
  Table<Row> table(node.group);
  const auto check = [](const Versioned<Pair>& copy, std::uint64_t round) {
    const auto& a = copy.slots[0];
    const auto& b = copy.slots[1];
    require(a.front == a.back && b.front == b.back, "both slots are whole");
    require_equal(std::max(a.front, b.front) - std::min(a.front, b.front), 2u,
                  "the step of the numbers, twice");
    require_equal(std::max(a.words[0], b.words[0]), round * 8, "what was pushed last");
    require_equal(std::min(a.words[0], b.words[0]), (round - 1) * 8, "what was pushed before");
    require_equal(copy.load().first, round * 8, "what is read");
  };
  for (std::uint64_t round = 1; round <= 40; ++round) {
    if (member.rank == 0) {
      evaluate_until(
          table, [&] { return table.get(MemberId{1}, &Row::round) == round; }, "the push");
      const Row& copy = table.cells(MemberId{1});
      if (round > 1) {
        check(copy.one, round);
        for (const Versioned<Pair>& each : copy.few) check(each, round);
      }
      table.set(&Row::round, round);
      continue;
    }
    for (std::uint64_t left = round % 5 + 1; left-- > 0;) {
      const Pair value{round * 8 - left, left};
      table.store(&Row::one, value);
      for (std::size_t i = 0; i < 2; ++i) table.store(&Row::few, i, value);
    }
    if (round % 4 == 0) {
      table.push();
    } else if (round % 4 == 1) {
      table.push(&Row::few, &Row::one);
    } else {
      for (std::size_t i = 0; i < 2; ++i) table.push(&Row::few, i);
      table.push(&Row::one);
    }
    table.set(&Row::round, round);
    evaluate_until(
        table, [&] { return table.get(MemberId{0}, &Row::round) == round; }, "the look");
  }
}

}  // namespace

#ifndef NDEBUG
TEST_CASE("row_of_nobody_is_caught_by_an_assertion") {
  if (support::skipped_on_sim("an assertion ends the process, which all nodes share")) return;
  ForkJob job(1, [](Member& member) {
    TableNode node(member);
    const Table<MixedRow> table(node.group);
    (void)table.get({1}, &MixedRow::count);
  });
  CHECK(job.wait() == "0: signal 6\n");
}
#endif

TEST_CASE("every_member_sees_the_first_rows_of_all") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    MixedRow first{};
    first.count = 100 + member.rank;
    first.votes[4] = static_cast<std::uint16_t>(7 + member.rank);
    first.place.store({1, 2, 3.0 + member.rank});
    first.large[99] = member.rank;
    const Table<MixedRow> table(node.group, {}, first);
    require_equal(table.size(), 3u, "members");
    for (std::uint16_t i = 0; i < 3; ++i) {
      require_equal(table.get({i}, &MixedRow::count), 100u + i, "count");
      require_equal(table.get({i}, &MixedRow::votes, 4), 7u + i, "vote");
      require_equal(table.get({i}, &MixedRow::place).z, 3.0 + i, "place");
      require_equal(table.get({i}, &MixedRow::large, 99), i, "last element");
      require_equal(rank_of(table, {i}), i, "process of a row");
    }
  });
  CHECK(job.wait() == "");
}

TEST_CASE("set_reaches_all_members") {
  ForkJob job(4, [](Member& member) {
    TableNode node(member);
    Table<MixedRow> table(node.group);
    const auto rank = static_cast<std::uint16_t>(member.rank);
    table.set(&MixedRow::count, std::numeric_limits<std::uint64_t>::max() - rank);
    table.set(&MixedRow::level, -5 - rank);
    table.set(&MixedRow::ready, true);
    table.set(&MixedRow::colour, Colour::kRed);
    table.set(&MixedRow::load, 0.5 + rank);
    table.set(&MixedRow::votes, 3, 1000 + rank);
    table.set(&MixedRow::place, Point{1, 2, 3.0 + rank});
    table.set(&MixedRow::large, 50, 5000u + rank);
    for (std::uint16_t i = 0; i < 4; ++i) {
      const MemberId of{i};
      evaluate_until(
          table, [&] { return table.get(of, &MixedRow::large, 50) == 5000u + i; }, "large");
      require(table.get(of, &MixedRow::count) == std::numeric_limits<std::uint64_t>::max() - i,
              "count");
      require(table.get(of, &MixedRow::level) == -5 - i, "level");
      require(table.get(of, &MixedRow::ready), "ready");
      require(table.get(of, &MixedRow::colour) == Colour::kRed, "colour");
      require(table.get(of, &MixedRow::load) == 0.5 + i, "load");
      require(table.get(of, &MixedRow::votes, 3) == 1000 + i, "votes");
      require(table.get(of, &MixedRow::place).z == 3.0 + i, "place");
      require(table.get(of, &MixedRow::votes, 2) == 0, "the element beside it");
    }
    meet(member, 0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("stored_values_stay_at_home_until_they_are_pushed") {
  ForkJob job(2, [](Member& member) {
    TableNode node(member);
    Table<MixedRow> table(node.group);
    const MemberId other{static_cast<std::uint16_t>(1 - member.rank)};
    table.store(&MixedRow::count, 7);
    table.store(&MixedRow::large, 99, 9u);
    table.store(&MixedRow::place, Point{1, 0, 0});
    table.store(&MixedRow::place, Point{2, 0, 0});
    table.set(&MixedRow::level, 1);
    evaluate_until(
        table, [&] { return table.get(other, &MixedRow::level) == 1; }, "level");
    require_equal(table.get(other, &MixedRow::count), 0u, "count that was not pushed");
    require_equal(table.mine(&MixedRow::count), 7u, "own count");
    require_equal(table.get(other, &MixedRow::place).x, 0.0, "place that was not pushed");
    meet(member, 0);
    table.push();
    evaluate_until(
        table, [&] { return table.get(other, &MixedRow::large, 99) == 9; }, "large");
    evaluate_until(
        table, [&] { return table.get(other, &MixedRow::place).x == 2; }, "place");
    require_equal(table.get(other, &MixedRow::count), 7u, "count");
    meet(member, 1);
    table.store(&MixedRow::place, Point{3, 0, 0});
    table.store(&MixedRow::place, Point{4, 0, 0});
    table.push(&MixedRow::place, &MixedRow::count);
    evaluate_until(
        table, [&] { return table.get(other, &MixedRow::place).x == 4; }, "place again");
    meet(member, 2);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_copy_of_a_versioned_has_the_values_of_the_last_two_pushes") {
  // Whatever its owner stored between them: so a push that is cut off leaves the one before.
  ForkJob job(2, [](Member& member) {
    TableNode node(member);
    check_last_two_pushes<PairsRow<1>>(member, node);
    check_last_two_pushes<PairsRow<500>>(member, node);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("pushes_of_large_rows_reuse_their_buffers") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    Table<MixedRow> table(node.group);
    for (std::uint32_t i = 1; i <= 1000; ++i) {
      table.store(&MixedRow::large, 0, i);
      table.store(&MixedRow::large, 99, i);
      table.push();
    }
    evaluate_until(
        table, [&] { return table.min(&MixedRow::large, 99) == 1000; }, "the last push");
    evaluate_until(
        table, [&] { return table.min(&MixedRow::large, 0) == 1000; }, "all of it");
    meet(member, 0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("aggregates_look_at_every_row") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    MixedRow first{};
    first.count = 10 * (member.rank + 1);
    first.level = static_cast<std::int32_t>(member.rank) - 1;
    first.ready = member.rank == 1;
    first.votes[2] = static_cast<std::uint16_t>(60000 + member.rank);
    first.load = 0.25;
    const Table<MixedRow> table(node.group, {}, first);
    require_equal(table.min(&MixedRow::count), 10u, "min");
    require_equal(table.max(&MixedRow::count), 30u, "max");
    require_equal(table.sum(&MixedRow::count), 60u, "sum");
    require_equal(table.min(&MixedRow::level), -1, "negative min");
    require_equal(table.sum(&MixedRow::level), 0, "sum with signs");
    require_equal(table.sum(&MixedRow::load), 0.75, "sum of fractions");
    require_equal(table.sum(&MixedRow::votes, 2), 180003u, "sum beyond 16 bits");
    require(table.any(&MixedRow::ready) && !table.all(&MixedRow::ready), "any, not all");
    require(!table.any(&MixedRow::colour), "none");
    require(table.all_of([](auto count) { return count >= 10; }, &MixedRow::count), "all of");
    require(!table.all_of([](auto count) { return count > 10; }, &MixedRow::count), "not all of");
    const auto snapshot = table.snapshot();
    require_equal(snapshot.max(&MixedRow::count), 30u, "max of a snapshot");
    require_equal(snapshot.mine(&MixedRow::count), 10u * (member.rank + 1),
                  "own row of a snapshot");
    require_equal(snapshot.sum(&MixedRow::votes, 2), 180003u, "arrays of a snapshot");
  });
  CHECK(job.wait() == "");
}
