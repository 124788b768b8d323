// SPDX-License-Identifier: MIT
// What is known of a multicast before its members meet: checked options, and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dtutils/rdma_memory.hpp"
#include "sst/detail/multicast_core.hpp"

namespace sst::detail {

struct MulticastCore::Plan {
  /// Throws Error when the options cannot be.
  Plan(TableGroup& group, const MulticastOptions& wanted);

  /// With members and senders filled in.
  MulticastOptions options;
  RingFormat format;
  std::vector<Source> sources;
  /// The place of this process among the senders.
  std::optional<std::size_t> own;
  dtutils::RDMAMemory memory;
  /// Of this process, as the others see it first.
  MulticastRow row{};
};

}  // namespace sst::detail
