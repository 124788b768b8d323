// SPDX-License-Identifier: MIT
// How a process names its shm device to others: the sixteen bytes that stand in for a GID.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <cstring>

namespace dtutils::shm {

/// Wire format, carried as ibv_gid::raw.  byte 0: pid | 4: door | 8: nonce.
struct Address {
  std::uint32_t pid;
  /// Where the process hands its control segment out, see handover.hpp.
  std::uint32_t door;
  /// Random: the key to the control segment. It also tells this process from a later one with its
  /// pid.
  std::uint64_t nonce;

  friend bool operator==(const Address&, const Address&) = default;
};
static_assert(sizeof(Address) == sizeof(ibv_gid));

inline ibv_gid to_gid(const Address& address) noexcept {
  ibv_gid gid;
  std::memcpy(gid.raw, &address, sizeof gid.raw);
  return gid;
}

inline Address to_address(const ibv_gid& gid) noexcept {
  Address address;
  std::memcpy(&address, gid.raw, sizeof address);
  return address;
}

}  // namespace dtutils::shm
