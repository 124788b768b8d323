// SPDX-License-Identifier: MIT
// Shows calls in the trace of a simulation.
#pragma once

#include <cstdint>

#include "dsfabric/call_context.hpp"

namespace dsfabric::detail {

class FunctionSlot;

/// While it lives, a callable runs at the thread that made it: the trace shows its name, and who
/// has called it. Only in a simulation that has a trace (FunctionTable::entries).
class CallSpan {
 public:
  /// The callable begins. Any thread that is simulated.
  CallSpan(const FunctionSlot& function, const CallContext& call);
  CallSpan(const CallSpan&) = delete;
  CallSpan& operator=(const CallSpan&) = delete;
  ~CallSpan();

 private:
  const std::uint64_t span_;
};

}  // namespace dsfabric::detail
