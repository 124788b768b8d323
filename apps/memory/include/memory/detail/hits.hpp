// SPDX-License-Identifier: MIT
// What a hit needs to know of a cached segment: compiled into the programs that read it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "dtutils/device_memory.hpp"
#include "memory/global_ptr.hpp"

namespace memory {

/// What a Client has done so far.
struct ClientCounters {
  /// Cached and subscribed reads that were answered from the cache.
  std::uint64_t hits = 0;
  /// Cached and subscribed reads that had to fetch the segment.
  std::uint64_t misses = 0;
  /// Tries of reads and of one-sided writes that were repeated, because somebody was at work.
  std::uint64_t repeated = 0;
  /// Segments that left the cache to make room.
  std::uint64_t evictions = 0;
};

namespace detail {

// No segment has these versions, at any time: such words mark writes that are under way.
/// Where a copy looks that is not subscribed.
inline constexpr std::uint64_t kNotTold = 1;
/// Of a copy without data.
inline constexpr std::uint64_t kNotFetched = 3;

/// Memory of a copy. It begins at a cache line, so that short copies lie in one.
class CopyBytes {
 public:
  CopyBytes() noexcept = default;
  /// Undefined bytes. May throw bad_alloc.
  explicit CopyBytes(std::size_t bytes)
      : bytes_(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{kLine}))) {}
  std::byte* get() const noexcept { return bytes_.get(); }

 private:
  static constexpr std::size_t kLine = 64;
  struct Free {
    void operator()(std::byte* bytes) const noexcept {
      ::operator delete(bytes, std::align_val_t{kLine});
    }
  };
  std::unique_ptr<std::byte, Free> bytes_;
};

/// A copy of a segment.
struct Copy {
  /// The segment. Place::first and Place::type are those of the pointer that was used first.
  Place place{};
  /// Of `data`.
  std::uint64_t version = kNotFetched;
  /// Where new versions arrive while it is subscribed.
  const std::uint64_t* word = &kNotTold;
  CopyBytes data;

  bool is_subscribed() const noexcept { return word != &kNotTold; }
  /// Whether the pointer names this segment.
  bool is_of(const Place& pointer) const noexcept {
    return place.place == pointer.place && place.tag == pointer.tag &&
           place.length == pointer.length;
  }
  /// Whether `data` is what the home has, as far as its process was told; not when it is not
  /// subscribed. The home tells of a new version before it answers the writer.
  bool is_current() const noexcept { return dtutils::load_device_word(word) == version; }
};

/// A copy that leaves when it was not used for long.
struct CachedCopy : Copy {
  /// Hits::uses when it was used last.
  std::uint64_t used = 0;
  /// Its place in the order of the cache, not above `used`.
  std::uint64_t ordered = 0;
};

/// The copies of a Client that were used last, and what it has counted. Owner thread only.
struct Hits {
  /// Of copies whose places have the same number here, the last one that was looked for.
  static constexpr std::size_t kRecent = 1024;
  static constexpr std::size_t slot_of(std::uint64_t place) noexcept {
    return (place * 0x9e3779b97f4a7c15u) >> 54;
  }

  explicit Hits(const std::atomic<std::uint32_t>& its_failures) noexcept : failures(&its_failures) {
    none.place.place = ~std::uint64_t{0};
    recent.fill(&none);
  }
  Hits(const Hits&) = delete;
  Hits& operator=(const Hits&) = delete;

  /// A subscribed read that needs nobody; false: it is no hit. The pointer may be any but an empty
  /// one: what has a copy was checked before.
  bool read(const Place& place, void* into, std::size_t bytes) noexcept {
    CachedCopy& copy = *recent[slot_of(place.place)];
    if (!copy.is_of(place) || place.first + bytes > place.length ||
        failures->load(std::memory_order_acquire) != failures_seen || !copy.is_current()) {
      return false;
    }
    copy.used = ++uses;
    ++counters.hits;
    // Nothing may be read into an empty span, which points nowhere.
    if (bytes != 0) std::memcpy(into, copy.data.get() + place.first, bytes);
    return true;
  }

  /// How many processes have failed, and how many of them this Client has taken notice of.
  const std::atomic<std::uint32_t>* failures;
  std::uint32_t failures_seen = 0;
  /// Counts uses of copies; each has a number of its own.
  std::uint64_t uses = 0;
  ClientCounters counters;
  /// Stands where there is no copy; no place is its.
  CachedCopy none;
  std::array<CachedCopy*, kRecent> recent;
};

}  // namespace detail
}  // namespace memory
