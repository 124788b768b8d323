// SPDX-License-Identifier: MIT
// Wire format: what the members of an elastic job are told of a process.
#pragma once

#include <cstdint>
#include <span>

#include "dsfabric/config.hpp"
#include "dtutils/device.hpp"
#include "job/bytes.hpp"
#include "job/members.hpp"

namespace dsfabric {

struct Introduction {
  /// Names the host of its device.
  std::uint64_t host = 0;
  /// Kind of its device, and the settings that must be the same everywhere.
  std::uint32_t device = 0;
  std::uint64_t receive_size = 0;
  std::uint32_t queue_pairs = 0;
  std::uint32_t max_connections = 0;
  /// Without its machine.
  Member member;

  /// Of this process.
  Introduction(const dtutils::DeviceInfo& its_device, const Config& config, Member its_member);
  /// Throws Error when the bytes are none.
  explicit Introduction(std::span<const std::byte> bytes);
  ByteWriter bytes() const;
};

}  // namespace dsfabric
