// SPDX-License-Identifier: MIT
// The ways on which a search makes its calls.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "dsfabric/dsfabric.hpp"

namespace mcts {

/// What a search needs of a channel, made by each worker for itself: call and call_buffer as in
/// dsfabric::Calls, and a flush that makes everything called so far leave. A call may wait and
/// serve incoming calls meanwhile, which may call on the same channel.
template <class C>
concept SearchChannel = std::constructible_from<C, dsfabric::Thread&> && requires(C& channel) {
  { channel.flush() } -> std::same_as<void>;
};

/// Each call is a message of DSfabric.
class SendLink {
 public:
  explicit SendLink(dsfabric::Thread& self) noexcept : fabric_(self.fabric()) {}

  template <class F>
  dsfabric::CallStatus call_buffer(dsfabric::ThreadId to, const F& function,
                                   std::span<const std::byte> buffer) {
    // One a call: while it waits for room, a handler may send too.
    return dsfabric::SendChannel(fabric_).call_buffer(to, function, buffer);
  }
  template <class F>
  dsfabric::CallStatus call(dsfabric::ThreadId to, const F& function) {
    return dsfabric::SendChannel(fabric_).call(to, function);
  }
  void flush() noexcept {}

 private:
  dsfabric::Fabric& fabric_;
};

}  // namespace mcts
