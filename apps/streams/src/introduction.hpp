// SPDX-License-Identifier: MIT
// Wire format: what the two sides of a stream tell each other before they are connected.
#pragma once

#include <cstdint>
#include <type_traits>

#include "dtutils/endpoint.hpp"
#include "streams/options.hpp"

namespace streams {

/// One message of each side over the socket on which they meet.
///
///   byte  0       8         12     16         56        64     68     72        76         80
///         | magic | version | flow | endpoint | address | rkey | ring | staging | receives |
///
///         80            84         88
///         | larger_ring | reserved |
struct Introduction {
  /// kMagic.
  std::uint64_t magic;
  /// kVersion.
  std::uint32_t version;
  /// A FlowControl; the listener repeats what the other side asks for.
  std::uint32_t flow;
  /// The queue pair of this side.
  dtutils::Endpoint endpoint;
  /// The registered memory of this side, and the key for it.
  std::uint64_t address;
  std::uint32_t rkey;
  /// Bytes of the ring in it, and of the staging memory. 0 with kCredits.
  std::uint32_t ring;
  std::uint32_t staging;
  /// Receives that it posts for writes with immediate data; 0: none may come.
  std::uint32_t receives;
  /// Bytes of the larger ring, for which there may be memory later; 0: none.
  std::uint32_t larger_ring;
  std::uint32_t reserved;
};
static_assert(sizeof(Introduction) == 88 && std::is_trivially_copyable_v<Introduction>);

inline constexpr std::uint64_t kMagic = 0x6d61657274732d63;
inline constexpr std::uint32_t kVersion = 5;

constexpr bool valid_ring(std::uint32_t ring) noexcept {
  return ring >= kSmallestRing && ring <= kLargestRing && (ring & (ring - 1)) == 0;
}

constexpr bool valid_larger_ring(std::uint32_t ring, std::uint32_t larger) noexcept {
  return larger == 0 || (valid_ring(larger) && larger > ring);
}

constexpr bool valid(const Introduction& peer) noexcept {
  if (peer.magic != kMagic || peer.version != kVersion) return false;
  if (peer.flow == static_cast<std::uint32_t>(FlowControl::kCredits)) return true;
  return (peer.flow == static_cast<std::uint32_t>(FlowControl::kPacketized) ||
          peer.flow == static_cast<std::uint32_t>(FlowControl::kZeroCopy)) &&
         valid_ring(peer.ring) && valid_larger_ring(peer.ring, peer.larger_ring) &&
         peer.staging >= kStaging && peer.staging <= kLargestRing &&
         (peer.staging & (peer.staging - 1)) == 0;
}

}  // namespace streams
