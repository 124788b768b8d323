// SPDX-License-Identifier: MIT
// Calls by one-sided writes, to one worker.
#pragma once

#include <utility>

#include "riutils/rdma_messenger_global.hpp"

namespace riutils {

/// Seriema's RDMAMessenger: an RDMAMessengerGlobal that knows its destination. Owner thread only.
class RDMAMessenger {
 public:
  RDMAMessenger(dsfabric::Thread& self, dsfabric::ThreadId to, const MessengerOptions& options = {})
      : calls_(self, options), to_(to) {}

  dsfabric::ThreadId destination() const noexcept { return to_; }
  void setup() { calls_.setup(to_); }
  bool flush() noexcept { return calls_.flush(); }

  /// As the methods of dsfabric::Calls, without their first argument.
  template <class... Arguments>
  dsfabric::CallStatus call(Arguments&&... arguments) {
    return calls_.call(to_, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  dsfabric::CallStatus call_buffer(Arguments&&... arguments) {
    return calls_.call_buffer(to_, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  dsfabric::CallStatus call_return(Arguments&&... arguments) {
    return calls_.call_return(to_, std::forward<Arguments>(arguments)...);
  }

 private:
  RDMAMessengerGlobal calls_;
  dsfabric::ThreadId to_;
};

}  // namespace riutils
