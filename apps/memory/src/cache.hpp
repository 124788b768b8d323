// SPDX-License-Identifier: MIT
// Copies of segments, of which those that were not used for longest leave first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "memory/global_ptr.hpp"

namespace memory::detail {

/// LRU by bytes. A hit of a segment that was found before by the same part of its key takes no
/// search. Owner thread only.
class Cache {
 public:
  static constexpr std::uint32_t kNoWord = 0xffff'ffff;

  struct Entry {
    /// Place::place.
    std::uint64_t key = 0;
    /// The version of `data`.
    std::uint64_t version = 0;
    std::uint32_t length = 0;
    /// Where new versions arrive; kNoWord: not subscribed.
    std::uint32_t word = kNoWord;
    /// As it was subscribed.
    Place place{};
    std::unique_ptr<std::byte[]> data;
    Entry* newer = nullptr;
    Entry* older = nullptr;
  };

  explicit Cache(std::size_t limit) noexcept : limit_(limit) {}

  /// The entry, which is the last used one now; nullptr: none.
  Entry* find(std::uint64_t key) noexcept {
    Entry*& recent = recent_[slot_of(key)];
    if (recent == nullptr || recent->key != key) [[unlikely]] {
      const auto found = entries_.find(key);
      if (found == entries_.end()) return nullptr;
      recent = found->second.get();
    }
    if (recent != newest_) touch(*recent);
    return recent;
  }
  /// Whether a segment of so many bytes is cached at all.
  bool takes(std::uint64_t length) const noexcept { return length <= limit_ / 2; }
  /// A new entry, which is the last used one. The caller makes room first. May throw bad_alloc.
  Entry& add(std::uint64_t key, std::uint32_t length);
  void erase(Entry& entry) noexcept;
  /// The entry that has to leave before one of `length` bytes comes; nullptr: there is room.
  Entry* victim(std::uint64_t length) const noexcept {
    return bytes_ + length > limit_ ? oldest_ : nullptr;
  }
  /// The entries, from the last used one on by `older`.
  Entry* newest() const noexcept { return newest_; }
  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  static constexpr std::size_t kRecent = 1024;
  static std::size_t slot_of(std::uint64_t key) noexcept {
    return (key * 0x9e3779b97f4a7c15u) >> 54;
  }
  void unlink(Entry& entry) noexcept;
  void link(Entry& entry) noexcept;
  void touch(Entry& entry) noexcept;

  std::size_t limit_;
  std::size_t bytes_ = 0;
  Entry* newest_ = nullptr;
  Entry* oldest_ = nullptr;
  std::array<Entry*, kRecent> recent_{};
  std::unordered_map<std::uint64_t, std::unique_ptr<Entry>> entries_;
};

}  // namespace memory::detail
