// SPDX-License-Identifier: MIT
// Blocks that a document has passed through, kept for the next one of that size.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "entry.hpp"

namespace caching::detail {

/// At most one entry for each size of a block (code_of_units). Whoever takes one owns it. Any
/// thread, wait-free.
class Spares {
 public:
  Spares() noexcept {
    for (auto& each : entries_) each.store(kNoEntry, std::memory_order_relaxed);
  }
  /// kNoEntry when there is none.
  std::uint32_t take(std::uint32_t code) noexcept {
    if (entries_[code].load(std::memory_order_relaxed) == kNoEntry) return kNoEntry;
    // Acquire: pairs with the release of who has used it before.
    return entries_[code].exchange(kNoEntry, std::memory_order_acquire);
  }
  /// False when there is one already: the caller keeps it.
  bool give(std::uint32_t code, std::uint32_t entry) noexcept {
    std::uint32_t none = kNoEntry;
    return entries_[code].compare_exchange_strong(none, entry, std::memory_order_release,
                                                  std::memory_order_relaxed);
  }
  static constexpr std::uint32_t kCodes = 1u << 10;

 private:
  std::array<std::atomic<std::uint32_t>, kCodes> entries_;
};

}  // namespace caching::detail
