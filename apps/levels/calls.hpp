// SPDX-License-Identifier: MIT
// What the levels that call have in common: the job of two processes, and what a call does.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "dsfabric/dsfabric.hpp"
#include "job.hpp"

namespace levels {

/// Joins the other process over the wire; the first process is rank 0.
dsfabric::Fabric join(const Job& job, Wire& wire, std::uint32_t rank);

/// Of the process where it runs.
std::array<std::uint64_t, kSlots>& slots();

/// The call: stores a counter.
struct Put {
  std::uint64_t counter;
  void operator()() const { slots()[counter % kSlots] = counter; }
};

/// Waits until the other one has executed every call that went before through `calls`.
template <class Channel>
void wait_for_all(Channel& calls, dsfabric::Thread& self) {
  dsfabric::ReturnSlot<void> executed(self.fabric());
  const auto status = calls.call_return(
      self.neighbour(1), [] {}, executed);
  if (status == dsfabric::CallStatus::kAccepted) executed.get();
}

/// Of the calls since `start`.
inline double nanoseconds_each(std::chrono::steady_clock::time_point start, const Job& job) {
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / static_cast<double>(job.count);
}

}  // namespace levels
