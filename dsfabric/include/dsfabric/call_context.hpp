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
struct CallContext;
namespace detail {
class ResultBatcher;
}  // namespace detail

/// How one type of callable is run from its bytes. `payload` holds the callable, and behind it what
/// travels with the call, `bytes` in all.
using Invoke = void (*)(std::byte* payload, std::uint32_t bytes, CallContext& context);

/// The channel that a call came through, for the calls that it forwards to other workers: the steps
/// of a broadcast. A layer that runs calls may offer one. The thread that runs the call only.
class Forwarder {
 public:
  /// Sends a call of a function of this program, and what travels with it. Never waits for handlers
  /// of this thread. False: the process of `to` is gone. Throws Error when the call can never be
  /// sent.
  virtual bool forward(const CallContext& call, ThreadId to, std::uint32_t function,
                       std::span<const std::byte> callable, std::span<const std::byte> extra) = 0;

 protected:
  Forwarder() = default;
  /// For the class that implements it.
  Forwarder(const Forwarder&) = default;
  /// For the class that implements it.
  Forwarder& operator=(const Forwarder&) = default;
  ~Forwarder() = default;
};

/// A callable takes it as its first argument, if it wants: `[](CallContext& call) { ... }`.
struct CallContext {
  /// The fabric of the process that runs the call.
  Fabric& fabric;
  /// The worker that sent the call, or {process, ThreadId::kService} for any other thread.
  ThreadId source;
  /// The worker that runs it; nullptr for a service call.
  Thread* worker;
  /// nullptr: messages.
  Forwarder* forwarder = nullptr;
  /// Where the results of such calls are gathered; nullptr: each result is sent by itself.
  detail::ResultBatcher* results = nullptr;
};

/// Runs the records in `bytes`, in their order. False: a record is invalid, and none after it was
/// run; the caller fails the peer that sent it. Exceptions of callables go to the upcall
/// (Fabric::on_exception) and the next record follows; without an upcall they pass through, and the
/// rest is not run. The owner of the destination.
bool run_records(std::span<std::byte> bytes, CallContext& context);

}  // namespace dsfabric
