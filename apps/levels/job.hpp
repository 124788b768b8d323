// SPDX-License-Identifier: MIT
// The job that every level does: stream counters into the memory of another process.
#pragma once

#include <cstdint>
#include <string>

#include "dtutils/device.hpp"
#include "wire.hpp"

namespace levels {

/// Counter i (from 1) goes to slot i % kSlots of the target, which waits for the last one and then
/// checks that each slot holds the last counter that was meant for it.
inline constexpr std::uint64_t kSlots = 1024;

struct Job {
  std::string device = "shm";
  std::uint64_t count = 2'000'000;
};

/// What one level needed.
struct Cost {
  /// Lines of code that the job takes at this level, set-up and stream, as counted in its source.
  int lines;
  double nanoseconds_each;
};

struct Level {
  const char* name;
  const char* what_it_saves;
  /// Runs in the first process; throws dtutils::Error.
  Cost (*send)(const Job& job, Wire& wire);
  /// Runs in the second one. False when a slot is wrong.
  bool (*receive)(const Job& job, Wire& wire);
};

// One file for each level of writing, one for all levels of calling.
Cost send_by_queue_pair(const Job& job, Wire& wire);
Cost send_by_transmitter(const Job& job, Wire& wire);
Cost send_by_fabric_call(const Job& job, Wire& wire);
Cost send_by_messenger(const Job& job, Wire& wire);
Cost send_by_aggregator(const Job& job, Wire& wire);

/// The second process where counters are written: registers memory, connects, watches them arrive.
bool receive_writes(const Job& job, Wire& wire);
/// The second process where they are called in: joins, and serves until the first one is done.
bool receive_calls(const Job& job, Wire& wire);

/// The last counter that was meant for a slot.
inline std::uint64_t expected(std::uint64_t slot, std::uint64_t count) {
  const std::uint64_t back = (count - slot % kSlots) % kSlots;
  return back < count ? count - back : 0;
}

}  // namespace levels
