// SPDX-License-Identifier: MIT
// Wire format: what one queue pair tells the other, out of band, so that the two can connect.
#pragma once

#include <cstdint>
#include <type_traits>

namespace dtutils {

/// The address of one queue pair. Plain bytes: copy it to the peer by any means (a socket, a file,
/// shared memory) and hand it to `QueuePair::connect` there.
///
///   byte  0     16     24    28    32    34    35     36         40
///         | gid | host | qpn | psn | lid | mtu | kind | reserved |
///
/// `gid` is the port's GID on verbs devices; on the shm device it holds {pid, door,
/// key to the control segment}, see dtutils/src/shm/address.hpp.
struct Endpoint {
  /// See above.
  std::uint8_t gid[16];
  /// Identifies the machine (and PID namespace); the shm device refuses a peer of another host.
  std::uint64_t host;
  /// Number of the queue pair, 24 bits.
  std::uint32_t qp_num;
  /// First packet sequence number, 24 bits.
  std::uint32_t psn;
  /// InfiniBand local identifier; 0 on Ethernet and shm.
  std::uint16_t lid;
  /// An `ibv_mtu` value; the two sides use the smaller one.
  std::uint8_t mtu;
  /// A `DeviceKind` value; both sides must agree.
  std::uint8_t kind;
  /// 0.
  std::uint32_t reserved;
};

static_assert(sizeof(Endpoint) == 40 && alignof(Endpoint) == 8);
static_assert(std::is_trivially_copyable_v<Endpoint> && std::is_standard_layout_v<Endpoint>);

}  // namespace dtutils
