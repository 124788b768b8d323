// SPDX-License-Identifier: MIT
// Arena: lists of free blocks by size, and their neighbours.
#include "arena.hpp"

#include <bit>

namespace caching::detail {
namespace {

unsigned class_of(std::uint32_t size) noexcept {
  return static_cast<unsigned>(std::bit_width(size)) - 1;
}

}  // namespace

Arena::Arena(std::uint32_t first, std::uint32_t units) : first_(first), at_(units) {
  lists_.fill(kNone);
  if (units != 0) enlist(0, units);
}

void Arena::mark(std::uint32_t block, std::uint32_t size, bool free) noexcept {
  for (const std::uint32_t end : {block, block + size - 1}) {
    at_[end].size = size & 0x7fff'ffffu;
    at_[end].free = free ? 1 : 0;
  }
}

void Arena::enlist(std::uint32_t block, std::uint32_t size) noexcept {
  mark(block, size, true);
  std::uint32_t& list = lists_[class_of(size)];
  at_[block].next = list;
  at_[block].previous = kNone;
  if (list != kNone) at_[list].previous = block;
  list = block;
  free_ += size;
}

void Arena::delist(std::uint32_t block) noexcept {
  const Unit& unit = at_[block];
  if (unit.previous != kNone) {
    at_[unit.previous].next = unit.next;
  } else {
    lists_[class_of(unit.size)] = unit.next;
  }
  if (unit.next != kNone) at_[unit.next].previous = unit.previous;
  free_ -= unit.size;
}

std::optional<std::uint32_t> Arena::take(std::uint32_t units) noexcept {
  for (std::size_t list = class_of(units); list < lists_.size(); ++list) {
    for (std::uint32_t block = lists_[list]; block != kNone; block = at_[block].next) {
      const std::uint32_t size = at_[block].size;
      if (size < units) continue;
      delist(block);
      if (size > units) enlist(block + units, size - units);
      mark(block, units, false);
      return first_ + block;
    }
  }
  return std::nullopt;
}

void Arena::give_back(std::uint32_t number) noexcept {
  std::uint32_t block = number - first_;
  std::uint32_t size = at_[block].size;
  if (block + size < at_.size() && at_[block + size].free != 0) {
    const std::uint32_t after = at_[block + size].size;
    delist(block + size);
    size += after;
  }
  if (block != 0 && at_[block - 1].free != 0) {
    const std::uint32_t before = at_[block - 1].size;
    block -= before;
    delist(block);
    size += before;
  }
  enlist(block, size);
}

bool Arena::invariant() const {
  std::uint32_t free = 0;
  std::uint32_t blocks = 0;
  bool before = false;
  for (std::uint32_t block = 0; block < at_.size(); block += at_[block].size) {
    const Unit& unit = at_[block];
    const Unit& last = at_[block + unit.size - 1];
    if (unit.size == 0 || last.size != unit.size || last.free != unit.free) return false;
    if (before && unit.free != 0) return false;
    before = unit.free != 0;
    free += before ? unit.size : 0;
    blocks += before ? 1 : 0;
  }
  for (const std::uint32_t list : lists_) {
    for (std::uint32_t block = list; block != kNone; block = at_[block].next) {
      if (at_[block].free == 0) return false;
      --blocks;
    }
  }
  return free == free_ && blocks == 0;
}

}  // namespace caching::detail
