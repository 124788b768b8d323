// SPDX-License-Identifier: MIT
// Free space in the control segment's arena: first fit, neighbours joined.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

namespace dtutils::shm {

/// Offsets only; the memory itself is none of its business. Setup only; the caller locks.
class Arena {
 public:
  explicit Arena(std::uint64_t size) : free_{{0, size}} {}

  /// The offset of `size` free bytes, or nothing.
  std::optional<std::uint64_t> take(std::uint64_t size) {
    for (auto at = free_.begin(); at != free_.end(); ++at) {
      const auto [offset, length] = *at;
      if (length < size) continue;
      if (length > size) free_.emplace(offset + size, length - size);
      free_.erase(at);
      fresh_from_ = std::max(fresh_from_, offset + size);
      return offset;
    }
    return std::nullopt;
  }

  /// From this offset on nothing was ever taken.
  std::uint64_t fresh_from() const noexcept { return fresh_from_; }

  void give(std::uint64_t offset, std::uint64_t size) {
    auto at = free_.emplace(offset, size).first;
    if (const auto after = std::next(at); after != free_.end() && offset + size == after->first) {
      at->second += after->second;
      free_.erase(after);
    }
    if (at == free_.begin()) return;
    const auto before = std::prev(at);
    if (before->first + before->second != offset) return;
    before->second += at->second;
    free_.erase(at);
  }

 private:
  /// Length by offset; no two of them touch.
  std::map<std::uint64_t, std::uint64_t> free_;
  std::uint64_t fresh_from_ = 0;
};

}  // namespace dtutils::shm
