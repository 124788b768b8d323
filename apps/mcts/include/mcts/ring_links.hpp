// SPDX-License-Identifier: MIT
// Searches whose calls travel by one-sided writes.
#pragma once

#include <span>

#include "mcts/channel.hpp"
#include "riutils/riutils.hpp"

namespace mcts {

/// Calls through RIutils' rings. A call never waits: while a ring is full it is held at the sender,
/// which Settings::window keeps far below the ring's limit. Owner thread only.
template <class Calls, auto kOptions>
class RingLink {
 public:
  explicit RingLink(dsfabric::Thread& self) : calls_(self, kOptions()) {}

  template <class F>
  dsfabric::CallStatus call_buffer(dsfabric::ThreadId to, const F& function,
                                   std::span<const std::byte> buffer) {
    if (buffer.empty()) return calls_.call(to, function);
    return calls_.call_buffer(to, function, buffer);
  }
  template <class F>
  dsfabric::CallStatus call(dsfabric::ThreadId to, const F& function) {
    return calls_.call(to, function);
  }
  void flush() noexcept { (void)calls_.flush(); }

 private:
  Calls calls_;
};

namespace detail {

inline riutils::MessengerOptions messenger_options() noexcept {
  return {.when_full = riutils::WhenFull::kRetryAsync};
}
inline riutils::AggregatorOptions traditional_options() noexcept {
  return {.mode = riutils::AggregatorOptions::Mode::kTraditional,
          .when_full = riutils::WhenFull::kRetryAsync};
}
inline riutils::AggregatorOptions overflow_options() noexcept {
  return {.mode = riutils::AggregatorOptions::Mode::kOverflow,
          .when_full = riutils::WhenFull::kRetryAsync};
}

}  // namespace detail

/// One write a call.
using MessengerLink = RingLink<riutils::RDMAMessengerGlobal, detail::messenger_options>;
/// Calls are gathered, and leave together at each flush.
using TraditionalLink = RingLink<riutils::RDMAAggregator, detail::traditional_options>;
/// One write a call, as long as the ring has room; gathered otherwise.
using OverflowLink = RingLink<riutils::RDMAAggregator, detail::overflow_options>;

}  // namespace mcts
