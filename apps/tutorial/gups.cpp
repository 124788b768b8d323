// SPDX-License-Identifier: MIT
// Tutorial, step 2: GUPS, random updates of a table that is spread over all workers.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "dtutils/clock.hpp"
#include "riutils/riutils.hpp"
#include "simulation/settings_only_main.hpp"

namespace {

constexpr std::uint64_t kWords = 1 << 16;      // of the table, at each worker
constexpr std::uint64_t kUpdates = 1'000'000;  // by each worker

using Part = std::vector<std::uint64_t>;

/// Each update is a call to the worker that owns the word. The aggregator puts many calls into one
/// RDMA write, which makes calls as small as these cheap.
void update(dsfabric::Thread& self, const dsfabric::DistributedObject<Part>& parts) {
  const dsfabric::Fabric& fabric = self.fabric();
  riutils::RDMAAggregator calls{self};
  std::minstd_rand random(1 + fabric.rank_of(self.id()));
  for (std::uint64_t i = 0; i < kUpdates; ++i) {
    const auto rank = static_cast<std::uint32_t>(random() % fabric.total_threads());
    const dsfabric::ThreadId owner = fabric.thread_of_rank(rank);
    const auto flip = [part = parts.on(owner), value = random()](dsfabric::CallContext& call) {
      // Runs on `owner`. The calls to one worker run one after the other, so no lock is needed.
      (*part.get(call.fabric))[value % kWords] ^= value;
    };
    if (calls.call(owner, flip) == dsfabric::CallStatus::kPeerGone) break;
  }
  riutils::wait_for_termination(self);  // all calls have run; throws if a process has failed
}

void run(dsfabric::Thread& self) {
  Part mine(kWords);
  const dsfabric::DistributedObject<Part> parts{self, mine};  // now each worker can name all parts
  const auto begin = dtutils::Clock::now();
  update(self, parts);
  const std::chrono::duration<double> took = dtutils::Clock::now() - begin;
  update(self, parts);  // The same updates once more: each word is zero again.
  const auto zeros = static_cast<std::uint64_t>(std::count(mine.begin(), mine.end(), 0));
  const std::uint64_t wrong = self.all_reduce(kWords - zeros);
  const std::uint64_t workers = self.fabric().total_threads();
  if (self.fabric().rank_of(self.id()) != 0) return;
  fmt::print("{} workers, {} updates, {:.4f} GUPS, {} wrong words\n", workers, workers * kUpdates,
             static_cast<double>(workers * kUpdates) / took.count() / 1e9, wrong);
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  dsfabric::join(argc, argv).run(run);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "gups: {}\n", error.what());
  return 1;
}
