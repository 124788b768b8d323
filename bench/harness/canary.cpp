// SPDX-License-Identifier: MIT
// Ping-pong over two cache lines.
#include "bench/harness/canary.hpp"

#include <atomic>
#include <vector>

#include "bench/harness/stats.hpp"
#include "bench/harness/wait.hpp"

namespace bench {
namespace {

// A bare spin, as tight as the benches' own: a pause in it would add to the round trip. Gives its
// core away only after far more looks than a round trip ever takes.
void await(const std::atomic<std::uint64_t>& line, std::uint64_t value) {
  constexpr int kTightSpins = 20000;
  for (int i = 0; i < kTightSpins; ++i) {
    // Acquire: partner of the release stores below. Nothing else is read; it is the hand-over that
    // real protocols make, so it is the one to time.
    if (line.load(std::memory_order_acquire) == value) return;
  }
  wait_until([&] { return line.load(std::memory_order_acquire) == value; },
             "the other process in a cache-line round trip");
}

}  // namespace

double measure_round_trip(ControlBlock& block, std::uint64_t trips) {
  auto& mine = block.process[0].ping.value;
  const auto& other = block.process[1].ping.value;
  std::uint64_t count = mine.load(std::memory_order_relaxed);  // only this process writes it
  std::vector<double> means;
  for (int chunk = 0; chunk < kCanaryChunks; ++chunk) {
    const double took = time_ns([&] {
      for (std::uint64_t i = 0; i < trips; ++i) {
        mine.store(++count, std::memory_order_release);  // partner: await() in process 1
        await(other, count);
      }
    });
    means.push_back(took / static_cast<double>(trips));
  }
  return summarize(means).median;
}

void answer_round_trip(ControlBlock& block, std::uint64_t trips) {
  auto& mine = block.process[1].ping.value;
  const auto& other = block.process[0].ping.value;
  std::uint64_t count = mine.load(std::memory_order_relaxed);  // only this process writes it
  for (std::uint64_t i = 0; i < trips * kCanaryChunks; ++i) {
    await(other, ++count);
    mine.store(count, std::memory_order_release);  // partner: await() in process 0
  }
}

}  // namespace bench
