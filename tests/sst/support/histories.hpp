// SPDX-License-Identifier: MIT
// Histories: what readers of a table saw while writers wrote, recorded and checked afterwards.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "dtutils/wait.hpp"
#include "sst/support/table_job.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"

namespace support {

/// How members write and readers look. `Row::last` is the round, and the last that is written in
/// it; `Look::last` is the same as it was seen.
template <class RowType, class LookType>
struct History {
  using Row = RowType;
  using Look = LookType;
  using Table = sst::Table<Row>;

  void (*write)(Table& table, std::uint64_t round, Random& random);
  /// `seed` is the same in all looks of one reader.
  Look (*look)(const Table& table, sst::MemberId member, std::uint64_t seed, Random& random);
  /// Throws when what one reader saw cannot be. `ordered`: SST-writes; else only what holds for
  /// each field by itself.
  void (*check)(const std::vector<Look>& looks, std::size_t members, bool ordered);
};

/// Looks that a reader keeps; later ones are not recorded.
inline constexpr std::size_t kKeptLooks = 300'000;

/// What one member does: writes, while a second thread looks at all rows, and evaluates where rows
/// are fetched.
template <class History>
void write_and_look(Member& member, const History& history, sst::Mode mode, std::uint64_t rounds,
                    std::uint64_t seed) {
  TableNode node(member, {.threads = 3});
  typename History::Table table(node.group, {.mode = mode});
  std::atomic<bool> done{false};
  std::atomic<std::size_t> looked{0};
  std::vector<typename History::Look> looks;
  looks.reserve(kKeptLooks);
  Threads threads;
  threads.start([&] {
    Random random(seed + member.rank);
    while (!done) {
      if (mode == sst::Mode::kReads) table.evaluate();
      for (std::uint16_t i = 0; i < member.size && looks.size() < kKeptLooks; ++i) {
        looks.push_back(history.look(table, {i}, seed + member.rank, random));
      }
      looked = looks.size();
    }
  });
  Random random(seed * 31 + member.rank);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    history.write(table, round, random);
    if (round % 16 == 0) dtutils::give_way();
  }
  require(eventually([&] { return table.min(&History::Row::last) == rounds; }), "all arrived");
  meet(member, 0);
  // A reader that had no core meanwhile looks now; others look once more at what arrived last.
  const std::size_t enough = std::min(looked + 101 + 2 * member.size, kKeptLooks);
  require(eventually([&] { return looked >= enough; }), "the reader looks");
  done = true;
  threads.join();
  history.check(looks, member.size, mode == sst::Mode::kWrites);
  require(looks.size() > 100 && looks.back().last > 0, "the reader looked");
}

/// Runs a job of `members`; `adversary`: the device does all it may, with these settings, which
/// are empty for the usual device.
template <class History>
void run_histories(std::uint32_t members, const History& history, sst::Mode mode,
                   std::uint64_t rounds, std::uint64_t seed, const std::string& adversary) {
  CAPTURE(seed, members, adversary);
  setenv("CARIAMA_SHM_ADVERSARY", adversary.c_str(), 1);
  ForkJob job(members,
              [&](Member& member) { write_and_look(member, history, mode, rounds, seed); });
  CHECK(job.wait(std::chrono::seconds(100)) == "");
  unsetenv("CARIAMA_SHM_ADVERSARY");
}

}  // namespace support
