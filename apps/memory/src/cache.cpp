// SPDX-License-Identifier: MIT
// Cache: the order by use, and entries that come and go.
#include "cache.hpp"

namespace memory::detail {

Cache::Entry& Cache::add(const Place& place) {
  auto made = std::make_unique<Entry>();
  made->place = place;
  made->data = CopyBytes(place.length);
  made->used = made->ordered = ++hits_.uses;
  Entry& entry = *made;
  const auto ordered = by_use_.emplace(entry.ordered, &entry).first;
  try {
    entries_[place.place] = std::move(made);
  } catch (...) {
    by_use_.erase(ordered);
    throw;
  }
  hits_.recent[Hits::slot_of(place.place)] = &entry;
  bytes_ += place.length;
  return entry;
}

void Cache::erase(Entry& entry) noexcept {
  by_use_.erase(entry.ordered);
  bytes_ -= entry.place.length;
  const std::uint64_t key = entry.place.place;
  Entry*& recent = hits_.recent[Hits::slot_of(key)];
  if (recent == &entry) recent = &hits_.none;
  entries_.erase(key);
}

Cache::Entry* Cache::victim(std::uint64_t length) noexcept {
  if (bytes_ + length <= limit_) return nullptr;
  // Whatever was used since it was put in order was used later than its place says, never earlier:
  // the first one that is where it belongs is the oldest of all.
  while (!by_use_.empty()) {
    Entry& first = *by_use_.begin()->second;
    if (first.used == first.ordered) return &first;
    auto moved = by_use_.extract(by_use_.begin());
    moved.key() = first.ordered = first.used;
    by_use_.insert(std::move(moved));
  }
  return nullptr;
}

}  // namespace memory::detail
