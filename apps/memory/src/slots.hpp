// SPDX-License-Identifier: MIT
// Places for segments in one piece of memory: of fixed sizes, never merged, so headers stay
// headers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace memory::detail {

/// Divides a piece of memory into units of 64 KiB, and those into slots of one size class. A unit
/// never changes its class: whatever was a header stays one. Sizes are multiples of 64 up to 512,
/// then four a power of two, so at most a fifth of a slot is wasted. One thread at a time, but for
/// size_at.
class Slots {
 public:
  static constexpr std::uint64_t kUnit = 64 << 10;

  explicit Slots(std::uint64_t bytes) : units_(bytes / kUnit) {}

  /// The size of the slots that hold `bytes`.
  static std::uint64_t size_class(std::uint64_t bytes) noexcept;
  /// The offset of a free slot for so many bytes; `fresh` when it was never used. Empty: no memory.
  std::optional<std::uint64_t> take(std::uint64_t bytes, bool& fresh);
  /// Takes a slot back.
  void give_back(std::uint64_t offset);
  /// The size of the slot that begins at `offset`; 0 when none begins there. Any thread, wait-free.
  std::uint64_t size_at(std::uint64_t offset) const noexcept;
  /// Calls `f(offset)` for each slot that was ever handed out.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [size, place] : classes_) {
      for (const std::uint64_t start : place.starts) {
        const std::uint64_t end = start + slots_in(size) * size;
        for (std::uint64_t at = start; at < end; at += size) {
          if (start != place.starts.back() || at < place.untouched) f(at);
        }
      }
    }
  }

 private:
  struct Unit {
    /// Of its slots; 0: not divided yet. Stored once, behind `start`.
    std::atomic<std::uint64_t> size{0};
    /// Where the slots begin: this unit, or one before it for slots larger than a unit.
    std::uint64_t start = 0;
  };
  struct Class {
    std::vector<std::uint64_t> free;
    /// Where its groups of units begin.
    std::vector<std::uint64_t> starts;
    /// The next slot of the last group that was never handed out.
    std::uint64_t untouched = 0;
  };
  /// Slots of a group of units.
  static std::uint64_t slots_in(std::uint64_t size) noexcept {
    return size >= kUnit ? 1 : kUnit / size;
  }

  std::vector<Unit> units_;
  std::uint64_t next_unit_ = 0;
  std::map<std::uint64_t, Class> classes_;
};

}  // namespace memory::detail
