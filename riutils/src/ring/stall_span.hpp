// SPDX-License-Identifier: MIT
// Shows in the trace of a simulation that a sender waits for room in a ring.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "dsfabric/ids.hpp"
#include "dtutils/simulation.hpp"

namespace riutils::detail {

/// While it lives, the calling thread waits for room in its ring to `to`. Nothing outside of
/// simulations with a trace.
class StallSpan {
 public:
  explicit StallSpan(dsfabric::ThreadId to) {
    dtutils::Simulation* const simulation = dtutils::Simulation::current();
    if (simulation == nullptr || !simulation->traced()) return;
    span_ = simulation->begin_span("stall", fmt::format("waits for room in the ring to {}", to));
  }
  StallSpan(const StallSpan&) = delete;
  StallSpan& operator=(const StallSpan&) = delete;
  ~StallSpan() {
    if (span_ != 0) dtutils::Simulation::current()->end_span(span_);
  }

 private:
  std::uint64_t span_ = 0;
};

}  // namespace riutils::detail
