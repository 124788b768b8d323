// SPDX-License-Identifier: MIT
// What the members of a large multicast tell each other at the beginning.
#pragma once

#include <vector>

#include "dtutils/memory_region.hpp"
#include "groups/large_multicast.hpp"

namespace groups::detail {

/// Stands in errors.
inline constexpr const char* kName = "groups::LargeMulticast";

struct Card {
  LargeMulticastOptions options;
  dtutils::RemoteMemoryLocator cells;
};

/// Throws Error when an option is out of range. Setup only.
void check(const LargeMulticastOptions& options);
/// Throws Error when those of two members differ; by rank. Setup only.
void require_equal_options(const std::vector<Card>& cards);

}  // namespace groups::detail
