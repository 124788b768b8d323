// SPDX-License-Identifier: MIT
// Calls by one-sided writes, to any worker: each call is one RDMA write.
#pragma once

#include "riutils/detail/ring_channel.hpp"

namespace riutils {

/// Seriema's RDMAMessengerGlobal: the family of calls (dsfabric/calls.hpp) to every worker of the
/// job; the ring to a worker is made at the first call to it. Calls run inside progress() of their
/// destination.
///
///     riutils::RDMAMessengerGlobal messenger{self};
///     if (messenger.call(next, [from = self.id()] { ... }) != dsfabric::CallStatus::kAccepted) ...
///
/// Service threads (ThreadId::service_of) have no rings: call them by a SendChannel. Owner thread
/// only.
class RDMAMessengerGlobal : public detail::RingChannel<RDMAMessengerGlobal> {
 public:
  /// For the calling worker. The first call to a destination throws Error when the options of its
  /// ring make no sense. Setup only.
  explicit RDMAMessengerGlobal(dsfabric::Thread& self, const MessengerOptions& options = {})
      : RingChannel(self, options.ring,
                    {options.when_full, options.when_full == WhenFull::kRetryAsync, 0}) {}

  /// Sends what is queued (WhenFull::kRetryAsync) as far as there is room; true when nothing is
  /// left.
  bool flush() noexcept { return ring_set_->flush(); }

  /// For Calls: the usual call in the shortest way.
  template <class F>
  bool try_call(dsfabric::ThreadId to, const F& function) noexcept {
    detail::OutgoingRing* const ring = find_again(to);
    return ring != nullptr && ring->try_post(dsfabric::function_index<F>(), function);
  }
};

}  // namespace riutils
