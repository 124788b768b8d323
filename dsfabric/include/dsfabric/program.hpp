// SPDX-License-Identifier: MIT
// The functions of this program for layers that carry calls themselves: how one is run, and whether
// two processes have the same ones.
#pragma once

#include <cstdint>

#include "dsfabric/call_context.hpp"

namespace dsfabric {

/// How the function of this index (function_index, callable.hpp) is run from its bytes; nullptr
/// when this program has no such function, or one that is larger than `bytes`. An index of another
/// process means the same here when program_digest() is the same. After join(): any thread,
/// wait-free.
Invoke function_at(std::uint32_t index, std::uint32_t bytes) noexcept;

/// Equal at two processes when all indices mean the same functions in both. After join(): any
/// thread, wait-free.
std::uint64_t program_digest() noexcept;

}  // namespace dsfabric
