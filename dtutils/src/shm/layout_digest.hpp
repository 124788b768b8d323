// SPDX-License-Identifier: MIT
// A number that stands for the layout of the control segment: peers of another layout are refused.
#pragma once

#include <cstdint>

namespace dtutils::shm {

/// Made from the size of every structure in layout.hpp, and from the offset and size of each of its
/// fields, so that a change of the layout changes it without anybody's help.
std::uint64_t layout_digest() noexcept;

}  // namespace dtutils::shm
