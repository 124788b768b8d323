// SPDX-License-Identifier: MIT
// How many files a process may have open.
#pragma once

#include <cstddef>

namespace dtutils {

/// Raises the limit on descriptors to the one that only root may pass (RLIMIT_NOFILE,
/// getrlimit(2)), and returns the limit that holds now. Most systems begin with 1024, and each
/// connected queue pair of the shm device, client or simulated node takes some. Setup only.
std::size_t raise_descriptor_limit() noexcept;

}  // namespace dtutils
