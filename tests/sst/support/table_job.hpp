// SPDX-License-Identifier: MIT
// What tests of tables share: a fabric of one worker, a TableGroup on it, and patience.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>

#include "dsfabric/support/fork_job.hpp"
#include "dtutils/clock.hpp"
#include "sst/sst.hpp"
#include "support/require.hpp"

namespace support {

/// The smallest row.
struct CountRow {
  std::uint64_t count;
};

inline dsfabric::Config one_worker() {
  dsfabric::Config config;
  config.threads = 1;
  config.service_threads = 0;
  return config;
}

/// A process of a job with tables. Its main thread uses them: tables need no worker.
struct TableNode {
  explicit TableNode(Member& member, const sst::TableGroupOptions& options = {})
      : fabric(member.join(one_worker())), group(fabric, options) {}

  dsfabric::Fabric fabric;
  sst::TableGroup group;
};

/// Evaluates `table` until `done`; fails with `what` when that takes too long.
template <class Table>
void evaluate_until(Table& table, const std::function<bool()>& done, const std::string& what) {
  sst::Pace pace(table.group().fabric());
  const auto end = dtutils::Clock::now() + std::chrono::seconds(20);
  while (!done()) {
    pace.after(table.evaluate());
    require(dtutils::Clock::now() < end, what);
  }
}

/// All members have come to the same point, which they count in a word of the job's memory.
inline void meet(Member& member, std::size_t word) {
  member.memory.words[word]++;
  require(eventually([&] { return member.memory.words[word] >= member.size; }), "all came");
}

}  // namespace support
