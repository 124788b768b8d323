// SPDX-License-Identifier: MIT
// What a callable can ask about the call that it runs in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dsfabric/ids.hpp"

namespace dsfabric {

class Fabric;
class Thread;

/// A callable takes it as its first argument, if it wants: `[](CallContext& call) { ... }`.
struct CallContext {
  Fabric& fabric;
  /// The worker that sent the call, or {process, ThreadId::kService} for any other thread.
  ThreadId source;
  /// The worker that runs it; nullptr for a service call.
  Thread* worker;
};

/// Runs the records in `bytes`, in their order. False: a record cannot be right, and none after it
/// was run; the peer that sent it must be failed. Exceptions of callables go to the upcall
/// (Fabric::on_exception) and the next record follows; without an upcall they pass through, and the
/// rest is not run. The owner of the destination.
bool run_records(std::span<std::byte> bytes, CallContext& context);

}  // namespace dsfabric
