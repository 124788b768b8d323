// SPDX-License-Identifier: MIT
// What this program's functions are called at each peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dsfabric/function_table.hpp"

namespace dsfabric {

/// Made once, from everyone's description. Any thread, wait-free.
class CallTables {
 public:
  /// `described` holds FunctionTable::describe() of each process, or nothing where the digest is
  /// ours. Throws Error when a peer shares no named function although the tables differ.
  CallTables(std::uint32_t self, const std::vector<std::span<const std::byte>>& described);

  /// FunctionTable::kAbsent when the peer's program has no such function.
  std::uint32_t index_at(std::uint32_t process, std::uint32_t function) const noexcept {
    const std::vector<std::uint32_t>& translation = translations_[process];
    return translation.empty() ? function : translation[function];
  }

 private:
  /// Empty for a process of the same binary.
  std::vector<std::vector<std::uint32_t>> translations_;
};

}  // namespace dsfabric
