// SPDX-License-Identifier: MIT
// cariama-cost: what the basic operations of this job take, and what a table is expected to take.
#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>

#include "common/command_line.hpp"
#include "dtutils/clock.hpp"
#include "hashtable/hashtable.hpp"
#include "locks/locks.hpp"
#include "simulation/cariama_main.hpp"

namespace {

using Table = hashtable::HashTable<std::uint64_t, std::uint64_t>;

struct Options {
  std::uint64_t block = Table::kBlockBytes;
  std::uint64_t entry = Table::kEntryBytes;
  std::uint64_t table = 512 << 10;
  std::uint64_t rounds = 20'000;
  std::uint64_t load = 50;
  bool json = false;
};

/// Nanoseconds of lock() and unlock() of a lock at the next process that nobody else wants,
/// measured by the first worker. A collective of all workers.
double measure_lock(dsfabric::Thread& self, std::uint64_t rounds) {
  locks::LockSpace space(self, {.locks = 1});
  const auto home = static_cast<std::uint16_t>(1 % self.fabric().processes());
  locks::SharedMutex mutex(space, locks::LockId{{home}, 0});
  double nanoseconds = 0;
  if (self.fabric().rank_of(self.id()) == 0) {
    const auto begin = dtutils::Clock::now();
    for (std::uint64_t i = 0; i < rounds; ++i) {
      mutex.lock();
      mutex.unlock();
    }
    const std::chrono::duration<double, std::nano> taken = dtutils::Clock::now() - begin;
    nanoseconds = taken.count() / static_cast<double>(rounds);
  }
  self.barrier();
  return nanoseconds;
}

void print_expected(const hashtable::cost::Basics& basics, double factor) {
  using enum hashtable::Operation;
  struct Row {
    const char* name;
    hashtable::Operation operation;
  };
  const hashtable::cost::Load load = hashtable::cost::chaining(factor, Table::kBlockSlots);
  fmt::print("\nexpected of a hash table, ns, all at once, {:.0f} keys for 100 slots\n",
             100 * factor);
  fmt::print("{:<18} {:>10} {:>14} {:>22}\n", "operation", "one-sided", "by call",
             "cached, 70 % hits");
  for (const Row& row :
       {Row{"find", kFind}, {"insert", kInsert}, {"update", kUpdate}, {"remove", kRemove}}) {
    const auto expected = [&](hashtable::Mode mode, double hits) {
      return hashtable::cost::expect(row.operation, mode, basics, hits, load);
    };
    fmt::print("{:<18} {:>10.1f} {:>14.1f} {:>22.1f}\n", row.name,
               expected(hashtable::Mode::kOneSided, 0), expected(hashtable::Mode::kByCall, 0),
               expected(hashtable::Mode::kCached, 0.7));
  }
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  Options options;
  dsfabric::Config config;
  common::CommandLine line{
      "Measures the latencies of basic operations between the workers of a job (start several by "
      "scripts/run), one worker at a time and all at once, and what the cost model makes of them."};
  line.option("--block", options.block, "Bytes of the larger read; whole words of 8 bytes", 8,
              32 << 10)
      .option("--entry", options.entry, "Bytes of the write", 8, 4096)
      .option("--table", options.table, "Bytes of the memory that reads and claims go to", 64,
              16 << 20)
      .option("--rounds", options.rounds, "Operations a figure", 5, 100'000'000)
      .option("--load", options.load, "Keys for 100 slots of a table that chains", 0, 1000)
      .flag("--json", options.json, "Print the figures as JSON");
  if (const auto status = line.parse(argc, argv, config)) return *status;
  options.block = (options.block + 7) / 8 * 8;  // as it is measured
  dsfabric::join(config).run([&](dsfabric::Thread& self) {
    const hashtable::cost::Costs costs =
        hashtable::cost::measure(self, {.block_bytes = static_cast<std::uint32_t>(options.block),
                                        .entry_bytes = static_cast<std::uint32_t>(options.entry),
                                        .table_bytes = options.table,
                                        .rounds = static_cast<std::uint32_t>(options.rounds)});
    const double lock = measure_lock(self, options.rounds);
    if (self.fabric().rank_of(self.id()) != 0) return;
    if (options.json) {
      fmt::print("{}", hashtable::cost::to_json(costs));
      return;
    }
    fmt::print("{} workers, started by {}, device {}, reads of {} bytes, writes of {}\n\n{}",
               self.fabric().total_threads(), self.fabric().launched_by(),
               self.fabric().device().name, options.block, options.entry,
               hashtable::cost::to_text(costs));
    fmt::print("\nlocks::SharedMutex, lock and unlock by one worker alone: {:.1f} ns\n", lock);
    print_expected(costs.all, static_cast<double>(options.load) / 100);
  });
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "cariama-cost: {}\n", error.what());
  return EXIT_FAILURE;
}
