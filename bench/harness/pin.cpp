// SPDX-License-Identifier: MIT
// Placement by sched_setaffinity(2).
#include "bench/harness/pin.hpp"

#include <sched.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

#include "bench/harness/clock.hpp"

namespace bench {
namespace {

/// How long a thread of core 0 of `cores` and one of core `other` take to hand a word to and fro.
double exchange_ns(const std::vector<int>& cores, int other) {
  constexpr std::uint64_t kTrips = 2000;
  alignas(64) std::atomic<std::uint64_t> there{0};
  alignas(64) std::atomic<std::uint64_t> back{0};
  std::thread answering([&] {
    pin_this_thread(cores, other);
    for (std::uint64_t i = 1; i <= kTrips; ++i) {
      while (there.load(std::memory_order_acquire) != i) {
      }
      back.store(i, std::memory_order_release);
    }
  });
  double took = 0;
  std::thread asking([&] {
    pin_this_thread(cores, 0);
    took = time_ns([&] {
      for (std::uint64_t i = 1; i <= kTrips; ++i) {
        there.store(i, std::memory_order_release);
        while (back.load(std::memory_order_acquire) != i) {
        }
      }
    });
  });
  asking.join();
  answering.join();
  return took / kTrips;
}

}  // namespace

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot read the usable cores");
  }
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

std::vector<int> farthest_first(std::vector<int> cores) {
  if (cores.size() < 3) return cores;
  std::size_t farthest = 1;
  double longest = 0;
  for (std::size_t i = 1; i < cores.size(); ++i) {
    const double took = exchange_ns(cores, static_cast<int>(i));
    if (took <= longest) continue;
    longest = took;
    farthest = i;
  }
  std::swap(cores[1], cores[farthest]);
  return cores;
}

void pin_this_thread(const std::vector<int>& cores, int index) {
  const int core = cores[static_cast<std::size_t>(index) % cores.size()];
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (::sched_setaffinity(0, sizeof(set), &set) != 0) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot pin to core " + std::to_string(core));
  }
}

}  // namespace bench
