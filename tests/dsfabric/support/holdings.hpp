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
  std::size_t queue_pairs;

  explicit Holdings(dsfabric::Fabric& fabric)
      : registered(fabric.allocator().reserved() + fabric.general_allocator().in_use()),
        queue_pairs(fabric.protection_domain().device().queue_pairs()) {}
  bool operator==(const Holdings&) const = default;
  /// A connection that was just made may still hold descriptors for a moment, so what was counted
  /// first may be more than what is left.
  bool no_more_than(const Holdings& first) const {
    return descriptors <= first.descriptors && segments <= first.segments &&
           registered <= first.registered && queue_pairs <= first.queue_pairs;
  }
  std::string text() const {
    return std::to_string(descriptors) + " descriptors, " + std::to_string(segments) +
           " segments, " + std::to_string(registered) + " registered bytes, " +
           std::to_string(queue_pairs) + " queue pairs";
  }
};

}  // namespace support
