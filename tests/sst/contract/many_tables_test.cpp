// SPDX-License-Identifier: MIT
// Tables beside and after each other: subsets, order, memory, members that leave.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sst/support/table_job.hpp"
#include "support/catch.hpp"

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

struct LargeRow {
  std::uint64_t count;
  std::array<std::uint32_t, 100> large;
};

}  // namespace

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
    auto old = std::make_unique<Table<LargeRow>>(node.group);
    meet(member, 0);
    if (member.rank == 0) {
      old.reset();
      // So that nothing but the other member keeps the memory.
      require(node.group.transmitter({1}).flush(), "the goodbye is sent");
    }
    // The making of a table is when memory of those before it is given back.
    const Table<LargeRow> next(node.group);
    if (member.rank == 1) {
      require(support::eventually([&] { return member.memory.words[1] == 1; }), "memory is taken");
      for (std::uint64_t i = 1; i <= 100; ++i) old->set(&LargeRow::count, i);
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
