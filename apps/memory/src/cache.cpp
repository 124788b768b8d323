// SPDX-License-Identifier: MIT
// Cache: the list by use, and entries that come and go.
#include "cache.hpp"

namespace memory::detail {

Cache::Entry& Cache::add(std::uint64_t key, std::uint32_t length) {
  auto made = std::make_unique<Entry>();
  made->key = key;
  made->length = length;
  made->data = std::make_unique<std::byte[]>(length);
  Entry& entry = *made;
  entries_[key] = std::move(made);
  recent_[slot_of(key)] = &entry;
  bytes_ += length;
  link(entry);
  return entry;
}

void Cache::erase(Entry& entry) noexcept {
  unlink(entry);
  bytes_ -= entry.length;
  Entry*& recent = recent_[slot_of(entry.key)];
  if (recent == &entry) recent = nullptr;
  entries_.erase(entry.key);
}

void Cache::unlink(Entry& entry) noexcept {
  (entry.newer != nullptr ? entry.newer->older : newest_) = entry.older;
  (entry.older != nullptr ? entry.older->newer : oldest_) = entry.newer;
  entry.newer = entry.older = nullptr;
}

void Cache::link(Entry& entry) noexcept {
  entry.older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = &entry;
  newest_ = &entry;
}

void Cache::touch(Entry& entry) noexcept {
  unlink(entry);
  link(entry);
}

}  // namespace memory::detail
