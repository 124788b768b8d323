// SPDX-License-Identifier: MIT
// Wire format: what the two sides of a stream tell each other before they are connected.
#pragma once

#include <cstdint>
#include <type_traits>

#include "dtutils/endpoint.hpp"

namespace streams {

/// One message of each side over the Unix-domain socket.
///
///   byte  0       8         12     16         56        64     68         72
///         | magic | version | ring | endpoint | address | rkey | reserved |
struct Introduction {
  /// kMagic.
  std::uint64_t magic;
  /// kVersion.
  std::uint32_t version;
  /// Bytes of the ring; both sides have the same.
  std::uint32_t ring;
  /// The queue pair of this side.
  dtutils::Endpoint endpoint;
  /// The first byte of the ring that the other side writes, and the key for it.
  std::uint64_t address;
  std::uint32_t rkey;
  /// 0.
  std::uint32_t reserved;
};
static_assert(sizeof(Introduction) == 72 && std::is_trivially_copyable_v<Introduction>);

inline constexpr std::uint64_t kMagic = 0x6d61657274732d63;
inline constexpr std::uint32_t kVersion = 1;

}  // namespace streams
