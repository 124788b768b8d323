// SPDX-License-Identifier: MIT
// Copies of segments, of which those that were not used for longest leave first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "memory/detail/hits.hpp"

namespace memory::detail {

/// LRU by bytes. A hit only notes when it was: the order is put right when something has to leave.
/// Owner thread only.
class Cache {
 public:
  using Entry = CachedCopy;

  Cache(std::size_t limit, Hits& hits) noexcept : limit_(limit), hits_(hits) {}

  /// The entry, which is the last used one now; nullptr: none.
  Entry* find(std::uint64_t key) noexcept {
    Entry*& recent = hits_.recent[Hits::slot_of(key)];
    if (recent->place.place != key) [[unlikely]] {
      const auto found = entries_.find(key);
      if (found == entries_.end()) return nullptr;
      recent = found->second.get();
    }
    recent->used = ++hits_.uses;
    return recent;
  }
  /// Whether a segment of so many bytes is cached at all.
  bool takes(std::uint64_t length) const noexcept { return length <= limit_ / 2; }
  /// A new entry, which is the last used one, for a segment that has none. The caller makes room
  /// first. May throw bad_alloc.
  Entry& add(const Place& place);
  void erase(Entry& entry) noexcept;
  /// The entry that has to leave before one of `length` bytes comes; nullptr: there is room.
  Entry* victim(std::uint64_t length) noexcept;
  /// Any entry; nullptr: there is none.
  Entry* any() const noexcept { return by_use_.empty() ? nullptr : by_use_.begin()->second; }
  /// Calls `f(entry)` for each; it may erase that one.
  template <class F>
  void for_each(F&& f) {
    for (auto at = entries_.begin(); at != entries_.end();) f(*(at++)->second);
  }
  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  std::size_t limit_;
  Hits& hits_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Entry>> entries_;
  /// By Entry::ordered.
  std::map<std::uint64_t, Entry*> by_use_;
};

}  // namespace memory::detail
