// SPDX-License-Identifier: MIT
// Calls by one-sided writes, many in one write.
#pragma once

#include "riutils/detail/ring_channel.hpp"

namespace riutils {

/// Seriema's RDMAAggregator: the family of calls over the same rings as messengers use, in the same
/// order, but sent together. Each call is serialized once, into the memory that is sent. See
/// AggregatorOptions for the two modes, and for when batched calls are sent.
///
/// Consecutive calls of one type to one thread share a header and are run by one loop: this is what
/// makes small calls cheap. It helps when the same lambda is called in a loop; calls of two types
/// in turns have a header each.
///
/// With a Synchronizer `sent`, a call and what was batched before it are sent at once. Owner
/// thread only.
class RDMAAggregator : public detail::RingChannel<RDMAAggregator> {
 public:
  /// For the calling worker. The first call to a destination throws Error when the options of its
  /// ring make no sense. Setup only.
  explicit RDMAAggregator(dsfabric::Thread& self, const AggregatorOptions& options = {})
      : RingChannel(self, options.ring, policy_of(options)) {
    ring_set_->limit_age(options.max_age);
  }
  /// Sends what was batched.
  ~RDMAAggregator() { (void)flush(); }

  /// Sends what is batched, and what is queued as far as there is room; true when nothing is left.
  bool flush() noexcept { return ring_set_->flush(); }

  /// For Calls: the usual call in the shortest way.
  template <class F>
  bool try_call(dsfabric::ThreadId to, const F& function) noexcept {
    assert_mine();
    detail::OutgoingRing* const ring =
        policy_.batch_bytes == 0 ? find_again(to) : ring_set_->find(to);
    if (ring == nullptr) return false;
    const std::uint32_t index = dsfabric::function_index<F>();
    return ring->try_append(index, function) || ring->try_batch(index, function) ||
           (policy_.batch_bytes == 0 && ring->try_post(index, function));
  }

 private:
  static detail::SendPolicy policy_of(const AggregatorOptions& options) noexcept {
    const bool traditional = options.mode == AggregatorOptions::Mode::kTraditional;
    return {options.when_full, !traditional || options.when_full == WhenFull::kRetryAsync,
            traditional ? options.flush_bytes : 0};
  }
};

}  // namespace riutils
