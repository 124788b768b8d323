// SPDX-License-Identifier: MIT
// What this program's functions are called at each peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dsfabric/detail/function_table.hpp"

namespace dsfabric {

/// Made once, from everyone's description. Any thread, wait-free.
class CallTables {
 public:
  /// `mine` lives as long as this; `described` holds FunctionTable::describe() of each process, or
  /// nothing where the digest is ours. Throws Error when a peer shares no named function although
  /// the tables differ.
  CallTables(const FunctionTable& mine, std::uint32_t self,
             const std::vector<std::span<const std::byte>>& described);

  /// That of this program, which everything that runs or sends calls goes by: a shared library may
  /// have a copy of this layer's code, with a FunctionTable::instance() of its own.
  const FunctionTable& mine() const noexcept { return mine_; }
  /// FunctionTable::kAbsent when the peer's program has no such function.
  std::uint32_t index_at(std::uint32_t process, std::uint32_t function) const noexcept {
    const std::vector<std::uint32_t>& translation = translations_[process];
    return translation.empty() ? function : translation[function];
  }

 private:
  const FunctionTable& mine_;
  /// Empty for a process of the same binary.
  std::vector<std::vector<std::uint32_t>> translations_;
};

}  // namespace dsfabric
