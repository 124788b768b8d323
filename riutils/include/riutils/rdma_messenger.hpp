// SPDX-License-Identifier: MIT
// Calls by one-sided writes, to one worker.
#pragma once

#include <utility>

#include "riutils/rdma_messenger_global.hpp"

namespace riutils {

/// Seriema's RDMAMessenger: an RDMAMessengerGlobal that knows its destination. Owner thread only.
class RDMAMessenger {
 public:
  /// For calls of this worker to the worker `to`. Setup only.
  RDMAMessenger(dsfabric::Thread& self, dsfabric::ThreadId to, const MessengerOptions& options = {})
      : calls_(self, options), to_(to) {}

  /// The worker that it calls.
  dsfabric::ThreadId destination() const noexcept { return to_; }
  /// Makes the ring now, see RingChannel::setup.
  void setup() { calls_.setup(to_); }
  /// Sends what is queued, see RDMAMessengerGlobal::flush.
  bool flush() noexcept { return calls_.flush(); }

  /// As the methods of dsfabric::Calls, without their first argument.
  template <class... Arguments>
  dsfabric::CallStatus call(Arguments&&... arguments) {
    return calls_.call(to_, std::forward<Arguments>(arguments)...);
  }
  /// As dsfabric::Calls::call_buffer, without the destination.
  template <class... Arguments>
  dsfabric::CallStatus call_buffer(Arguments&&... arguments) {
    return calls_.call_buffer(to_, std::forward<Arguments>(arguments)...);
  }
  /// As dsfabric::Calls::call_return, without the destination.
  template <class... Arguments>
  auto call_return(Arguments&&... arguments) {
    return calls_.call_return(to_, std::forward<Arguments>(arguments)...);
  }

 private:
  RDMAMessengerGlobal calls_;
  dsfabric::ThreadId to_;
};

}  // namespace riutils
