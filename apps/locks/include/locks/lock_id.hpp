// SPDX-License-Identifier: MIT
// Names of locks, and where the words of a lock lie.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dsfabric/ids.hpp"
#include "dtutils/memory_region.hpp"

namespace locks {

/// A lock of a LockSpace: the process that is its home, and its number there, from 0. Trivially
/// copyable: capture it, send it, store it.
struct LockId {
  /// The process whose memory holds the words of the lock.
  dsfabric::ProcessId home;
  /// Below LockSpaceOptions::locks.
  std::uint32_t index = 0;
  friend auto operator<=>(const LockId&, const LockId&) = default;
};

/// The memory of one lock, at its home, both words zero when the lock is free:
///
///     byte  0        8             16
///           | word   | released    |
///
/// `word` is that of the scheme (ncosed.hpp, dslr.hpp); `released` counts the releases of readers.
struct LockWords {
  /// The word that requests change by one atomic.
  std::uint64_t word;
  /// The number of readers that have released the lock since the last exclusive holder.
  std::uint64_t released;
};
static_assert(sizeof(LockWords) == 16 && std::is_trivially_copyable_v<LockWords>);

/// Where the words of a lock lie: what the algorithms use. `memory.process` is the home; its
/// length is sizeof(LockWords), and its address a multiple of 16.
struct LockAddress {
  /// Registered memory of the home with all access rights.
  dtutils::RemoteMemoryLocator memory;

  /// The process that decides about this lock.
  dsfabric::ProcessId home() const noexcept { return {memory.process}; }
  /// The first word.
  dtutils::RemoteMemoryLocator word() const noexcept {
    return memory.part(offsetof(LockWords, word), sizeof(std::uint64_t));
  }
  /// The second word.
  dtutils::RemoteMemoryLocator released() const noexcept {
    return memory.part(offsetof(LockWords, released), sizeof(std::uint64_t));
  }
};

}  // namespace locks
