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

TEST_CASE("subsets_have_tables_of_their_own") {
  ForkJob job(4, [](Member& member) {
    TableNode node(member);
    struct Small {
      std::uint32_t value;
    };
    const auto rank = static_cast<std::uint16_t>(member.rank);
    const Table<Small> all(node.group, {}, Small{rank});
    // Not in the order of ranks, and each process is in one of the two.
    const bool odd = rank % 2 == 1;
    const TableOptions options{odd ? std::vector<ProcessId>{{3}, {1}}
                                   : std::vector<ProcessId>{{0}, {2}}};
    Table<Small> half(node.group, options, Small{rank + 10u});
    require_equal(all.sum(&Small::value), 6u, "sum of all");
    require_equal(half.sum(&Small::value), odd ? 24u : 22u, "sum of the half");
    require(half.process({0}) == ProcessId{static_cast<std::uint16_t>(odd ? 3 : 0)}, "order");
    require(!half.find({static_cast<std::uint16_t>(odd ? 0 : 1)}), "others are not in it");
    meet(member, 1);
    half.set(&Small::value, 100);
    evaluate_until(
        half, [&] { return half.min(&Small::value) == 100; }, "a set in the half");
    require_equal(all.sum(&Small::value), 6u, "the other table is untouched");
    try {
      const Table<Small> none(node.group, {{{static_cast<std::uint16_t>((rank + 1) % 4)}}});
      support::fail("no table without oneself");
    } catch (const dtutils::Error&) {
    }
    meet(member, 0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("many_tables_alike_are_told_apart_by_their_order") {
  ForkJob job(2, [](Member& member) {
    TableNode node(member);
    struct Small {
      std::uint32_t value;
    };
    std::vector<std::unique_ptr<Table<Small>>> tables;
    for (std::uint32_t i = 0; i < 40; ++i) {
      tables.push_back(std::make_unique<Table<Small>>(node.group, TableOptions{}, Small{i}));
      // Some go at once; their memory must not be given away while the other may still push.
      if (i % 3 == 0) tables.back().reset();
    }
    for (std::uint32_t i = 0; i < 40; ++i) {
      if (tables[i]) require_equal(tables[i]->min(&Small::value), i, "its own table");
    }
    meet(member, 0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("memory_of_a_table_that_is_gone_is_no_others_before_all_have_parted_from_it") {
  ForkJob job(2, [](Member& member) {
    TableNode node(member);
    auto old = std::make_unique<Table<MixedRow>>(node.group);
    meet(member, 0);
    if (member.rank == 0) {
      old.reset();
      // So that nothing but the other member keeps the memory.
      require(node.group.transmitter({1}).flush(), "the goodbye is sent");
    }
    // The making of a table is when memory of those before it is given back.
    const Table<MixedRow> next(node.group);
    if (member.rank == 1) {
      require(support::eventually([&] { return member.memory.words[1] == 1; }), "memory is taken");
      for (std::uint64_t i = 1; i <= 100; ++i) old->set(&MixedRow::count, i);
      require(node.group.transmitter({0}).flush(), "all has arrived");
    } else {
      constexpr std::byte kPattern{0xa5};
      std::vector<dtutils::RDMAMemory> taken;
      // Small ones, which fit into whatever was given back.
      for (int i = 0; i < 1024; ++i) {
        taken.push_back(node.fabric.general_allocator().allocate(64));
        std::memset(taken.back().data(), static_cast<int>(kPattern), taken.back().size());
      }
      member.memory.words[1] = 1;
      require(support::eventually([&] { return member.memory.words[2] == 1; }), "it has pushed");
      for (const dtutils::RDMAMemory& memory : taken) {
        const std::span<const std::byte> bytes(memory.data(), memory.size());
        require(std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == kPattern; }),
                "nobody writes into it");
      }
    }
    meet(member, 2);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_member_that_makes_another_table_is_told_apart") {
  ForkJob job(2, [](Member& member) {
    dsfabric::Config config = support::one_worker();
    // Also of the start of the job, which takes a while on a machine that has other work.
    config.start_timeout = support::kSlowdown * std::chrono::seconds(2);
    dsfabric::Fabric fabric = member.join(config);
    TableGroup group(fabric);
    struct One {
      std::uint32_t value;
    };
    struct Two {
      std::uint64_t value;
    };
    std::string text;
    try {
      if (member.rank == 0) {
        const Table<One> table(group, {.name = "loads"});
      } else {
        const Table<Two> table(group, {.name = "loads"});
      }
    } catch (const dtutils::Error& error) {
      text = error.what();
    }
    require(text.find("table loads") != std::string::npos && text.find("process") != text.npos,
            "an Error that names table and process: " + text);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("members_may_leave_at_different_times") {
  ForkJob job(3, [](Member& member) {
    TableNode node(member);
    struct Small {
      std::uint64_t value;
    };
    Table<Small> table(node.group);
    // Process 0 leaves at once; the others still see what it pushed last, and push on.
    table.set(&Small::value, 1 + member.rank);
    if (member.rank == 0) return;
    evaluate_until(
        table, [&] { return table.get({0}, &Small::value) == 1; }, "its last push");
    for (std::uint64_t i = 10; i < 1000; ++i) table.set(&Small::value, i);
    const MemberId other{static_cast<std::uint16_t>(3 - member.rank)};
    evaluate_until(
        table, [&] { return table.get(other, &Small::value) == 999; }, "the other one");
    meet(member, 0);
  });
  // Those who stay meet without process 0.
  job.memory().words[0] = 1;
  CHECK(job.wait() == "");
}
