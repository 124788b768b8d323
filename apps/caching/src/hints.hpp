// SPDX-License-Identifier: MIT
// Where a process has found documents of neighbours last, and how often it has read them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire.hpp"

namespace caching::detail {

/// Where a document was found or sent last; `word` 0: nowhere.
struct Hint {
  Word word;
  /// Of the block, as many as have to be read; 0: not known.
  std::uint64_t bytes = 0;
};

/// One hint for each of many hashes, the newest one. What it says is only believed after the
/// document was read and examined: so a slot that two threads change at the same time may be half
/// of one hint and half of another. Any thread, wait-free.
class Hints {
 public:
  /// `slots` is a power of two.
  explicit Hints(std::size_t slots) : slots_(slots) {}

  Hint find(std::uint64_t name_hash) const noexcept {
    const Slot& slot = slot_of(name_hash);
    if (load(slot.name_hash) != name_hash) return {};
    const Word word{load(slot.word)};
    // Another hint's tells itself most often.
    if (word.tag() != Word::tag_of(name_hash)) return {};
    return {word, load(slot.bytes)};
  }
  void set(std::uint64_t name_hash, const Hint& hint) noexcept {
    Slot& slot = slot_of(name_hash);
    if (load(slot.name_hash) != name_hash) store(slot.reads, 0);
    store(slot.name_hash, name_hash);
    store(slot.word, hint.word.value);
    store(slot.bytes, hint.bytes);
  }
  /// Counts a read of that document; gives how many there were before, as far as is known.
  std::uint64_t count_read(std::uint64_t name_hash) noexcept {
    Slot& slot = slot_of(name_hash);
    if (load(slot.name_hash) != name_hash) return 0;
    const std::uint64_t before = load(slot.reads);
    store(slot.reads, before + 1);
    return before;
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> name_hash{0};
    std::atomic<std::uint64_t> word{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> reads{0};
  };
  static std::uint64_t load(const std::atomic<std::uint64_t>& word) noexcept {
    return word.load(std::memory_order_relaxed);
  }
  static void store(std::atomic<std::uint64_t>& word, std::uint64_t value) noexcept {
    word.store(value, std::memory_order_relaxed);
  }
  const Slot& slot_of(std::uint64_t name_hash) const noexcept {
    return slots_[name_hash & (slots_.size() - 1)];
  }
  Slot& slot_of(std::uint64_t name_hash) noexcept {
    return slots_[name_hash & (slots_.size() - 1)];
  }

  std::vector<Slot> slots_;
};

}  // namespace caching::detail
