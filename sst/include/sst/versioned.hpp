// SPDX-License-Identifier: MIT
// A field of more than 8 bytes that is never seen half written.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "dsfabric/detail/object_bytes.hpp"
#include "dtutils/wait.hpp"
#include "sst/table_limits.hpp"

namespace sst {

/// Two slots of a cache line each, written in turn; readers take the newer one that is whole.
///
///     byte  0         8                               56       64
///     slot  | front   | value, 48 bytes at most       | back   |
///
/// Both version words are `number << 1`, or that of the write in progress with the lowest bit set.
/// The owner marks both, writes the value, and sets back, then front. A device copies the bytes of
/// a line in ascending order, or all at once. So a reader who finds the same even number first in
/// `back`, then, after the value, in `front`, has seen one write:
///  - the value is not older than the number, which was written after it (front of a copy that
///    arrives in ascending order comes first, but back comes last, and back was read first);
///  - it is not newer either: who reads a byte of a later write finds that write's mark, or its
///    number, in `front`.
/// For copies made by an RDMA read the same holds with the roles of front and back changed.
/// A writer that dies in a slot leaves the other one whole. A reader that finds a slot in progress
/// takes the other one only if it is the write just before: nobody sees an older value after a
/// newer one.
///
/// So writes into one copy have consecutive numbers. An owner may store more often than it pushes;
/// therefore a push stores the newest value once more, into what the owner keeps of the field as
/// the other members have it, and sends the slot that this wrote (Table::push).
///
/// Empty (all zeros) it holds T's bytes as zeros. `load` is lock-free: it looks again only when two
/// writes began meanwhile. `store` is for the owner thread of the row.
template <class T>
struct alignas(kLine) Versioned {
  static_assert(std::is_trivially_copyable_v<T>, "cariama: sst::Versioned<T> needs plain data");
  static_assert(sizeof(T) <= 48, "cariama: sst::Versioned<T> holds 48 bytes at most; use an array");
  /// The type that it holds.
  using Value = T;
  /// The bytes of a value, as words.
  using Words = std::array<std::uint64_t, 6>;

  /// One cache line.
  struct Slot {
    /// Version word, written last.
    std::uint64_t front;
    /// The value.
    Words words;
    /// Version word, written before `front`.
    std::uint64_t back;
  };
  /// Write number n goes into slot n % 2.
  std::array<Slot, 2> slots;

  /// The last value that is here as a whole. Any thread, lock-free.
  T load() const noexcept {
    T value;
    std::uint64_t number = 0;
    while (!read(value, number)) dtutils::cpu_pause();
    return value;
  }

  /// Stores a value in this process only; Table::push sends it. Returns the slot that the value is
  /// in. The owner of the row only.
  std::size_t store(const T& value) noexcept {
    const std::uint64_t number = newest() + 1;
    put(slots[number % 2], value, number);
    return number % 2;
  }

  /// Takes over what `from` holds now, if that is newer; false when it could not be read at this
  /// moment. The owner of this one.
  bool copy_if_newer(const Versioned& from) noexcept {
    T value;
    std::uint64_t number = 0;
    if (!from.read(value, number)) return false;
    if (number > newest()) put(slots[number % 2], value, number);
    return true;
  }

 private:
  /// One look. False: writes are in progress.
  bool read(T& value, std::uint64_t& number) const noexcept {
    std::uint64_t newest_seen = 0;
    bool whole = false;
    Words words{};
    for (const Slot& slot : slots) {
      Words seen_words;
      // Acquire, all: each pairs with the store, or the device's placement, before the next one.
      const std::uint64_t back = get(slot.back);
      for (std::size_t i = seen_words.size(); i-- > 0;) seen_words[i] = get(slot.words[i]);
      const std::uint64_t front = get(slot.front);
      const std::uint64_t seen = (front > back ? front : back) >> 1;
      newest_seen = seen > newest_seen ? seen : newest_seen;
      if (front == back && front % 2 == 0 && (!whole || seen > number)) {
        whole = true;
        number = seen;
        words = seen_words;
      }
    }
    std::memcpy(static_cast<void*>(&value), words.data(), sizeof value);
    return whole && number + 1 >= newest_seen;
  }

  static std::uint64_t get(const std::uint64_t& word) noexcept {
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
  }
  static void set(std::uint64_t& word, std::uint64_t value) noexcept {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }
  /// Owner only, who finds no write in progress.
  std::uint64_t newest() const noexcept {
    const std::uint64_t a = get(slots[0].front) >> 1, b = get(slots[1].front) >> 1;
    return a > b ? a : b;
  }
  static void put(Slot& slot, const T& value, std::uint64_t number) noexcept {
    Words words{};
    std::memcpy(words.data(), dsfabric::detail::ObjectBytes<T>(value).data(), sizeof value);
    set(slot.front, number << 1 | 1);
    set(slot.back, number << 1 | 1);
    // Release stores: each is behind the marks, which a reader of it must find.
    for (std::size_t i = 0; i < words.size(); ++i) set(slot.words[i], words[i]);
    set(slot.back, number << 1);
    set(slot.front, number << 1);
  }
};

}  // namespace sst
