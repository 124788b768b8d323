// SPDX-License-Identifier: MIT
// What a call of a channel returns.
#pragma once

#include <cstdint>

namespace dsfabric {

/// What every call of a channel returns. An enumeration rather than a bool, because a caller acts
/// differently on the two refusals: it makes progress and calls again, or it goes on without that
/// peer.
enum class [[nodiscard]] CallStatus : std::uint8_t {
  /// The channel has taken the call: it is sent, or gathered or held to be sent later, and runs
  /// once while both processes live.
  kAccepted,
  /// Nothing was done: there is no room for the call now. The ring is full and its policy does not
  /// wait (riutils::WhenFull), the sender has no registered memory left, or too many calls of this
  /// process wait for a result. Make progress outside of handlers, then call again.
  kFull,
  /// Nothing was done: the process of the destination has failed or left
  /// (Fabric::state, Fabric::failure_reason), and no later call to it is accepted.
  kPeerGone,
};

}  // namespace dsfabric
