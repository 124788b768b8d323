// SPDX-License-Identifier: MIT
// What there is to know about a kind of page: its size, where it comes from, how to get more.
#pragma once

#include <cstddef>
#include <string>

#include "dtutils/shared_segment.hpp"

namespace dtutils {

std::size_t page_size(PageKind kind) noexcept;

/// True for the kinds that the administrator reserves (hugetlbpage.rst of the kernel).
bool from_pool(PageKind kind) noexcept;

/// The command that adds pages for `size` bytes to the pool of `node` (-1: of the whole machine).
std::string pool_remedy(PageKind kind, std::size_t size, int node);

/// Throws Error about `object` where the kernel gives memory files no transparent huge pages
/// (transhuge.rst of the kernel, "shmem_enabled").
void check_transparent_pages(const std::string& object);

}  // namespace dtutils
