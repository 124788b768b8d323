// SPDX-License-Identifier: MIT
// Slots: classes, units, and the way back from an offset to its slot.
#include "slots.hpp"

#include <bit>

#include "layout.hpp"

namespace memory::detail {

std::uint64_t Slots::size_class(std::uint64_t bytes) noexcept {
  if (bytes <= 512) return round_up(bytes, 64);
  return round_up(bytes, std::bit_floor(bytes - 1) / 4);
}

std::optional<std::uint64_t> Slots::take(std::uint64_t bytes, bool& fresh) {
  const std::uint64_t size = size_class(bytes);
  Class& its = classes_[size];
  fresh = its.free.empty();
  if (!fresh) {
    const std::uint64_t offset = its.free.back();
    its.free.pop_back();
    return offset;
  }
  if (its.starts.empty() || its.untouched == its.starts.back() + slots_in(size) * size) {
    const std::uint64_t count = (size + kUnit - 1) / kUnit;
    if (count > units_.size() - next_unit_) return std::nullopt;
    const std::uint64_t start = next_unit_ * kUnit;
    for (std::uint64_t i = 0; i < count; ++i) {
      Unit& unit = units_[next_unit_++];
      unit.start = start;
      // Release: pairs with size_at, which reads `start` behind it.
      unit.size.store(size, std::memory_order_release);
    }
    its.starts.push_back(start);
    its.untouched = start;
  }
  const std::uint64_t offset = its.untouched;
  its.untouched += size;
  return offset;
}

void Slots::give_back(std::uint64_t offset) {
  classes_[units_[offset / kUnit].size.load(std::memory_order_relaxed)].free.push_back(offset);
}

std::uint64_t Slots::size_at(std::uint64_t offset) const noexcept {
  const std::uint64_t unit = offset / kUnit;
  if (unit >= units_.size()) return 0;
  // Acquire: pairs with take, which has stored `start` before.
  const std::uint64_t size = units_[unit].size.load(std::memory_order_acquire);
  if (size == 0) return 0;
  const std::uint64_t inside = offset - units_[unit].start;
  return inside % size == 0 && inside / size < slots_in(size) ? size : 0;
}

}  // namespace memory::detail
