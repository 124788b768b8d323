// SPDX-License-Identifier: MIT
// What memory a Transmitter can tag, so that its allocator hands it out again in time.
#pragma once

#include <concepts>

#include "dtutils/memory_region.hpp"
#include "dtutils/selective_signaling.hpp"

namespace dtutils {

/// Registered memory that can be given a tag, as RDMAMemory can.
template <class Memory>
concept Recyclable = requires(Memory& memory, RetireTag tag) {
  { memory.local() } -> std::convertible_to<LocalBuffer>;
  { memory.retire_at(tag) } -> std::convertible_to<bool>;
};

}  // namespace dtutils
