// SPDX-License-Identifier: MIT
// What a process of a job holds, for tests that compare before and after.
#pragma once

#include <cstddef>
#include <string>

#include "dsfabric/fabric.hpp"
#include "support/leftovers.hpp"

namespace support {

struct Holdings {
  std::size_t descriptors = open_descriptors();
  std::size_t segments = mapped_segments(kAnySegment);
  std::size_t registered;

  explicit Holdings(dsfabric::Fabric& fabric)
      : registered(fabric.allocator().reserved() + fabric.general_allocator().in_use()) {}
  bool operator==(const Holdings&) const = default;
  std::string text() const {
    return std::to_string(descriptors) + " descriptors, " + std::to_string(segments) +
           " segments, " + std::to_string(registered) + " registered bytes";
  }
};

}  // namespace support
