// SPDX-License-Identifier: MIT
// Memory in units: blocks of any size, freed and joined with their neighbours.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace caching::detail {

/// Hands out rows of units, numbered from `first` on. It keeps its records beside the memory, which
/// it never touches. A block is cut from the first large enough one of its own class of sizes
/// (powers of two), else of a larger class; so taking and giving back cost a few steps, whatever is
/// free. No allocation after the constructor. One thread at a time.
class Arena {
 public:
  Arena(std::uint32_t first, std::uint32_t units);

  /// The number of the first unit of `units` ones (at least 1); empty when no row is long enough.
  std::optional<std::uint32_t> take(std::uint32_t units) noexcept;
  /// Gives a block back.
  void give_back(std::uint32_t block) noexcept;

  bool holds(std::uint32_t block) const noexcept {
    return block - first_ < static_cast<std::uint32_t>(at_.size());
  }
  std::uint32_t units() const noexcept { return static_cast<std::uint32_t>(at_.size()); }
  std::uint32_t free_units() const noexcept { return free_; }
  /// Blocks tile the memory, no two free ones are neighbours, and lists hold all of them.
  bool invariant() const;

 private:
  static constexpr std::uint32_t kNone = ~0u;
  /// For the first unit of a block, and its last one, where only `size` and `free` mean something.
  struct Unit {
    std::uint32_t size : 31;
    std::uint32_t free : 1;
    std::uint32_t next;
    std::uint32_t previous;
  };

  void mark(std::uint32_t block, std::uint32_t size, bool free) noexcept;
  void enlist(std::uint32_t block, std::uint32_t size) noexcept;
  void delist(std::uint32_t block) noexcept;

  std::uint32_t first_;
  std::uint32_t free_ = 0;
  std::vector<Unit> at_;
  std::array<std::uint32_t, 32> lists_;
};

}  // namespace caching::detail
