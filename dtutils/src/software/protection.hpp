// SPDX-License-Identifier: MIT
// What this process may do with a range of its address space.
#pragma once

#include <cstddef>
#include <optional>

namespace dtutils::software {

/// PROT_READ and PROT_WRITE, as far as mmap(2) and mprotect(2) grant them on every page of the
/// range; empty when a part of it is not mapped. Throws Error when the kernel's list of them cannot
/// be read. Setup only.
std::optional<int> protection_of(const void* address, std::size_t length);
/// The same on kernels before Linux 6.11, where it takes as long as the process has mappings.
std::optional<int> protection_by_reading(const void* address, std::size_t length);

}  // namespace dtutils::software
