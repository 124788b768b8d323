// SPDX-License-Identifier: MIT
// What readers saw while writers pushed, recorded and checked afterwards: whole fields, in order.
#include "sst/support/histories.hpp"

#include <cstdlib>
#include <string>
#include <vector>

using namespace sst;
using support::ForkJob;
using support::Member;
using support::require;
using support::TableNode;

namespace {

using Wide6 = std::array<std::uint64_t, 6>;

/// A writer counts `round` up and pushes, in this order: `first`, a Versioned and an element as
/// fields, then the whole row with `block`, then `last`.
struct HistoryRow {
  std::uint64_t last;
  std::uint32_t first;
  std::uint32_t elements[3];
  Versioned<Wide6> wide;
  std::uint64_t block[100];
};

/// One look of a reader at a row, in the reverse order of the pushes.
struct Look {
  std::uint16_t member;
  std::uint64_t last;
  std::uint64_t block_low, block_high;
  std::uint64_t element;
  Wide6 wide;
  std::uint64_t first;
};

void write(Table<HistoryRow>& table, std::uint64_t round, support::Random& random) {
  const auto small = static_cast<std::uint32_t>(round);
  table.set(&HistoryRow::first, small);
  table.set(&HistoryRow::wide, {round, round, round, round, round, round});
  table.set(&HistoryRow::elements, 2, small);
  for (std::size_t i = 0; i < 100; ++i) table.store(&HistoryRow::block, i, round);
  table.push();
  table.set(&HistoryRow::last, round);
  // Now and then something that nobody looks at, so that the rhythm varies.
  if (random.one_in(3)) table.set(&HistoryRow::elements, 0, small);
}

Look look(const Table<HistoryRow>& table, MemberId member, std::uint64_t, support::Random& random) {
  Look seen{};
  seen.member = member.value;
  seen.last = table.get(member, &HistoryRow::last);
  const std::size_t at = random.below(100);
  seen.block_low = table.get(member, &HistoryRow::block, at);
  seen.block_high = table.get(member, &HistoryRow::block, 99 - at);
  seen.element = table.get(member, &HistoryRow::elements, 2);
  seen.wide = table.get(member, &HistoryRow::wide);
  seen.first = table.get(member, &HistoryRow::first);
  return seen;
}

void check(const std::vector<Look>& history, std::size_t members, bool ordered) {
  std::vector<Look> before(members);
  for (const Look& now : history) {
    Look& then = before[now.member];
    for (const std::uint64_t word : now.wide) require(word == now.wide[0], "a Versioned is whole");
    require(now.last >= then.last && now.first >= then.first && now.element >= then.element &&
                now.wide[0] >= then.wide[0],
            "nothing goes back");
    if (ordered) {
      require(now.block_low >= now.last && now.block_high >= now.last,
              "the row that was pushed before `last`");
      require(now.element >= now.last && now.wide[0] >= now.element && now.first >= now.wide[0],
              "fields in the order of their pushes");
    }
    then = now;
  }
}

constexpr support::History<HistoryRow, Look> kHistory{write, look, check};

void run(Mode mode, std::uint64_t rounds, bool adversary) {
  const std::uint64_t seed = support::test_seed();
  const std::string settings = adversary ? "seed=" + std::to_string(seed % 100'000 + 1) : "";
  support::run_histories(3, kHistory, mode, rounds, seed, settings);
}

}  // namespace

TEST_CASE("histories_of_pushed_rows") { run(Mode::kWrites, 20'000, false); }

TEST_CASE("histories_of_pushed_rows_on_a_device_that_does_all_it_may") {
  run(Mode::kWrites, 1'000, true);
}

TEST_CASE("histories_of_fetched_rows") { run(Mode::kReads, 20'000, false); }

TEST_CASE("histories_of_fetched_rows_on_a_device_that_does_all_it_may") {
  run(Mode::kReads, 2'000, true);
}

TEST_CASE("whole_rows_are_in_order_only_where_the_device_says_so") {
  // The rule that Table states, held against both kinds of device.
  for (const bool adversary : {false, true}) {
    CAPTURE(adversary);
    if (adversary) setenv("CARIAMA_SHM_ADVERSARY", "7", 1);
    ForkJob job(2, [=](Member& member) {
      TableNode node(member, {.threads = 2});
      struct Large {
        std::uint64_t block[64];
      };
      Table<Large> table(node.group);
      require(table.bytes_in_order() == !adversary, "what the device answers");
      constexpr std::uint64_t kRounds = 4000;
      std::atomic<bool> done{false};
      std::uint64_t early = 0;
      support::Threads threads;
      threads.start([&] {
        const MemberId other{static_cast<std::uint16_t>(1 - member.rank)};
        while (!done) {
          // A later address first: in ascending order it is never the newer one.
          const std::uint64_t high = table.get(other, &Large::block, 63);
          early += table.get(other, &Large::block, 0) < high;
        }
      });
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        for (std::size_t i = 0; i < 64; ++i) table.store(&Large::block, i, round);
        table.push();
      }
      require(support::eventually([&] { return table.min(&Large::block, 0) == kRounds; }), "all");
      support::meet(member, 0);
      done = true;
      threads.join();
      member.memory.processes[member.rank].result = early;
      if (table.bytes_in_order()) require(early == 0, "ascending, as promised");
    });
    CHECK(job.wait(std::chrono::seconds(60)) == "");
    unsetenv("CARIAMA_SHM_ADVERSARY");
  }
}
