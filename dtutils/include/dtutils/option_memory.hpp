// SPDX-License-Identifier: MIT
// Memory whose size an option of the user decides.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "dtutils/error.hpp"
#include "dtutils/general_allocator.hpp"
#include "dtutils/limits.hpp"
#include "dtutils/rdma_memory.hpp"

namespace dtutils {

/// Allocates for `object` what `option` asks for. Throws the allocator's Error, and names the
/// option. Setup only.
inline RDMAMemory allocate_for_option(GeneralAllocator& allocator, std::size_t bytes,
                                      std::string_view object, std::string_view option,
                                      std::size_t alignment = kCacheLine) {
  try {
    return allocator.allocate(bytes, alignment);
  } catch (const Error& error) {
    const std::string name(option);
    throw Error(object, "there is no memory for " + name + " (" + error.what() + ")",
                "lower " + name + ", if nothing else helps");
  }
}

}  // namespace dtutils
