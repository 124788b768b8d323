// SPDX-License-Identifier: MIT
// The order in which the adversarial mode lets the pieces of a copy arrive.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace dtutils::software {

/// Calls `visit(begin, length)` for the pieces of a range of `length` bytes at `address`, once each
/// and in an order drawn from `random`, 64 at a time. They are cut where the address is a multiple
/// of `piece`, a power of two. Allocates nothing.
template <class Visit>
void for_each_piece_shuffled(std::uintptr_t address, std::size_t length, std::size_t piece,
                             std::uint64_t random, Visit visit) noexcept {
  constexpr std::size_t kGroup = 64;
  for (std::size_t at = 0; at < length;) {
    std::array<std::size_t, kGroup + 1> cuts;
    std::array<std::uint8_t, kGroup> order;
    std::size_t pieces = 0;
    while (at < length && pieces < kGroup) {
      cuts[pieces] = at;
      order[pieces] = static_cast<std::uint8_t>(pieces);
      ++pieces;
      at = std::min(length, at + piece - ((address + at) & (piece - 1)));
    }
    cuts[pieces] = at;
    for (std::size_t i = pieces; i > 1; --i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      std::swap(order[i - 1], order[(random >> 33) % i]);
    }
    for (std::size_t i = 0; i < pieces; ++i) {
      visit(cuts[order[i]], cuts[order[i] + 1] - cuts[order[i]]);
    }
  }
}

}  // namespace dtutils::software
