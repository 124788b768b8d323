// SPDX-License-Identifier: MIT
// First fit and best fit over blocks that are split, freed and coalesced.
#include "dtutils/general_allocator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "dtutils/error.hpp"
#include "memory/sizes.hpp"

namespace dtutils {
namespace {

/// Bytes from `address` to the next multiple of `alignment`, a power of two.
std::size_t lead(const std::byte* address, std::size_t alignment) noexcept {
  return -reinterpret_cast<std::uintptr_t>(address) & (alignment - 1);
}

}  // namespace

GeneralAllocator::GeneralAllocator(RDMAAllocator& source, const GeneralAllocatorOptions& options)
    : source_(source), options_(options), free_(FreeOrder{options.fit}) {
  options_.limit = std::min(options.limit, kUnlimited);
  if (options.area_size == 0 || options.area_size > options_.limit) {
    throw Error("general allocator",
                fmt::format("areas of {} and a limit of {} do not fit each other",
                            format_bytes(options.area_size), format_bytes(options.limit)),
                "keep 0 < area_size <= limit");
  }
  options_.area_size = round_up(options.area_size, kChunk);
}

GeneralAllocator::~GeneralAllocator() {
  sweep();
  for (Block* block = waiting_; block != nullptr; block = block->next) {
    block->area->absorb(block->tags);
  }
}

RDMAMemory GeneralAllocator::allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes == 0 || bytes > kUnlimited / 2 || !std::has_single_bit(alignment) ||
      alignment > kUnlimited / 2) {
    throw Error("general allocator",
                fmt::format("{} at a multiple of {} cannot be had", format_bytes(bytes),
                            format_bytes(alignment)),
                "ask for at least one byte, and for an alignment that is a power of two");
  }
  alignment = std::max(alignment, kCacheLine);
  const std::size_t size = round_up(bytes, kCacheLine);
  const std::lock_guard lock(mutex_);
  sweep();
  FreeSet::iterator from = find(size, alignment);
  if (from == free_.end()) {
    from = add_area(size, alignment);
  }
  Block& block = carve(from, size, alignment);
  const RDMAMemory& area = *block.area;
  return {block.address, bytes, area.lkey(), area.rkey(), area.zone(), block};
}

std::optional<RDMAMemory> GeneralAllocator::try_allocate(std::size_t bytes,
                                                         std::size_t alignment) noexcept {
  try {
    return allocate(bytes, alignment);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::size_t GeneralAllocator::collect() noexcept {
  const std::lock_guard lock(mutex_);
  return sweep();
}

GeneralAllocator::FreeSet::iterator GeneralAllocator::find(std::size_t size,
                                                           std::size_t alignment) noexcept {
  const auto fits = [&](const FreeKey& key) {
    const std::size_t before = lead(key.address, alignment);
    return before <= key.size && size <= key.size - before;
  };
  const auto begin =
      options_.fit == Fit::kBest ? free_.lower_bound({size, nullptr}) : free_.begin();
  return std::find_if(begin, free_.end(), fits);
}

GeneralAllocator::FreeSet::iterator GeneralAllocator::add_area(std::size_t size,
                                                               std::size_t alignment) {
  // Areas start at a multiple of a chunk.
  const std::size_t need = round_up(size + (alignment > kChunk ? alignment - kChunk : 0), kChunk);
  const std::size_t room = options_.limit - reserved_;
  if (need > room) {
    throw Error(
        "general allocator",
        fmt::format("{} do not fit: {} of the limit of {} are taken, and no free block is "
                    "large enough",
                    format_bytes(size), format_bytes(reserved_), format_bytes(options_.limit)),
        "raise GeneralAllocatorOptions::limit, or give memory back and let it retire");
  }
  const std::size_t wanted = std::max(need, options_.area_size);
  areas_.push_front(source_.allocate(wanted <= room ? wanted : need));
  const RDMAMemory& area = areas_.front();
  try {
    Block& block = blocks_[area.data()];
    block.area = areas_.begin();
    block.address = area.data();
    block.size = area.size();
    const FreeSet::iterator key = free_.insert(block.key()).first;
    reserved_ += area.size();
    return key;
  } catch (...) {
    blocks_.erase(area.data());
    areas_.pop_front();
    throw;
  }
}

GeneralAllocator::Block& GeneralAllocator::carve(FreeSet::iterator from, std::size_t size,
                                                 std::size_t alignment) {
  auto at = blocks_.find(from->address);
  if (const std::size_t before = lead(at->second.address, alignment); before > 0) {
    at = split(at, before);
  }
  Block& block = at->second;
  if (block.size > size) {
    split(at, size);
  }
  block.tags.reserve(options_.queue_pairs);
  block.owner = this;
  block.node = free_.extract(block.key());
  in_use_ += size;
  return block;
}

/// Cuts a free block in two free ones; the second is returned.
GeneralAllocator::Blocks::iterator GeneralAllocator::split(Blocks::iterator at, std::size_t size) {
  Block& first = at->second;
  const auto cut = blocks_.try_emplace(first.address + size).first;
  Block& second = cut->second;
  second.area = first.area;
  second.address = first.address + size;
  second.size = first.size - size;
  try {
    free_.insert(second.key());
  } catch (...) {
    blocks_.erase(cut);
    throw;
  }
  FreeSet::node_type node = free_.extract(first.key());
  first.size = size;
  node.value() = first.key();
  free_.insert(std::move(node));
  return cut;
}

void GeneralAllocator::take_back(detail::MemorySlot& slot) noexcept {
  auto& block = static_cast<Block&>(slot);
  const std::lock_guard lock(mutex_);
  if (block.tags.done()) {
    free(blocks_.find(block.address));
  } else {
    block.next = std::exchange(waiting_, &block);
  }
}

std::size_t GeneralAllocator::sweep() noexcept {
  std::size_t waiting = 0;
  Block* block = std::exchange(waiting_, nullptr);
  while (block != nullptr) {
    Block* const next = block->next;
    if (block->tags.done()) {
      free(blocks_.find(block->address));
    } else {
      block->next = std::exchange(waiting_, block);
      ++waiting;
    }
    block = next;
  }
  return waiting;
}

void GeneralAllocator::free(Blocks::iterator at) noexcept {
  in_use_ -= at->second.size;
  at->second.tags.clear();
  FreeSet::node_type node = std::move(at->second.node);
  if (const auto after = std::next(at);
      after != blocks_.end() && joins(at->second, after->second)) {
    free_.erase(after->second.key());
    at->second.size += after->second.size;
    blocks_.erase(after);
  }
  if (at != blocks_.begin() && joins(std::prev(at)->second, at->second)) {
    const auto gone = at--;
    free_.erase(at->second.key());
    at->second.size += gone->second.size;
    blocks_.erase(gone);
  }
  const Block& block = at->second;
  if (const Areas::iterator area = block.area; block.size == area->size()) {
    reserved_ -= area->size();
    blocks_.erase(at);
    areas_.erase(area);
    return;
  }
  node.value() = block.key();
  free_.insert(std::move(node));
}

bool GeneralAllocator::joins(const Block& block, const Block& after) noexcept {
  return block.free() && after.free() && block.area == after.area;
}

std::size_t GeneralAllocator::reserved() const {
  const std::lock_guard lock(mutex_);
  return reserved_;
}

std::size_t GeneralAllocator::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

bool GeneralAllocator::invariant() const {
  const std::lock_guard lock(mutex_);
  std::size_t used = 0;
  std::size_t free_blocks = 0;
  std::size_t tiled = 0;
  for (auto at = blocks_.begin(); at != blocks_.end(); ++at) {
    const Block& block = at->second;
    const auto after = std::next(at);
    const std::byte* end = block.address + block.size;
    const bool last = end == block.area->data() + block.area->size();
    const bool tiles =
        last || (after != blocks_.end() && after->first == end && after->second.area == block.area);
    if (at->first != block.address || block.size == 0 || !tiles ||
        (!last && joins(block, after->second)) ||
        (block.free() && free_.find(block.key()) == free_.end())) {
      return false;
    }
    (block.free() ? free_blocks : used) += block.free() ? 1 : block.size;
    tiled += block.size;
  }
  return used == in_use_ && tiled == reserved_ && reserved_ <= options_.limit &&
         free_blocks == free_.size();
}

}  // namespace dtutils
