// SPDX-License-Identifier: MIT
// Growth of the ring, and its way back to the source.
#include "dtutils/circular_allocator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dtutils/error.hpp"
#include "memory/sizes.hpp"

namespace dtutils {
CircularAllocator::CircularAllocator(RDMAAllocator& source, const CircularAllocatorOptions& options)
    : source_(source), options_(options) {
  options_.limit = std::min(options.limit, kUnlimited);
  const bool fits = options.unit_size > 0 && options.unit_size <= options_.limit &&
                    options.initial_size <= options_.limit;
  if (fits) {
    stride_ = round_up(options.unit_size, kCacheLine);
    piece_size_ = round_up(stride_, kChunk);
    options_.initial_size = round_up(std::max<std::size_t>(options.initial_size, 1), piece_size_);
  }
  if (!fits || options_.initial_size > options_.limit) {
    throw Error("circular allocator",
                fmt::format("units of {}, {} at first and {} at most do not fit each other",
                            format_bytes(options.unit_size), format_bytes(options.initial_size),
                            format_bytes(options.limit)),
                fmt::format("the limit must hold the initial size, rounded up to whole units and "
                            "to whole chunks of {}",
                            format_bytes(kChunk)));
  }
  extend(options_.initial_size);
}

CircularAllocator::~CircularAllocator() {
  for (Piece& piece : pieces_) {
    for (const Slot& slot : piece.slots) {
      if (!slot.tags.done()) {
        piece.memory.absorb(slot.tags);
      }
    }
  }
}

std::optional<RDMAMemory> CircularAllocator::allocate_growing() noexcept {
  if (source_is_empty_ || !grow()) {
    return std::nullopt;
  }
  return hand_out(*last_->next);
}

bool CircularAllocator::grow() noexcept {
  const std::size_t before = size_;
  source_is_empty_ = false;
  try {
    extend(options_.growth == Growth::kLinear ? options_.initial_size : size_);
  } catch (const std::exception&) {
    source_is_empty_ = true;
  }
  return size_ > before;
}

void CircularAllocator::extend(std::size_t bytes) {
  const std::size_t target = std::min(options_.limit, size_ + bytes);
  Slot* at = last_;
  while (piece_size_ <= target - size_) {
    at = add_piece(at);
  }
  last_ = last_ == nullptr ? at : last_;
}

CircularAllocator::Slot* CircularAllocator::add_piece(Slot* after) {
  pieces_.reserve(pieces_.size() + 1);
  Piece piece{source_.allocate(piece_size_), std::vector<Slot>(piece_size_ / stride_)};
  std::byte* data = piece.memory.data();
  for (std::size_t i = 0; i < piece.slots.size(); ++i, data += stride_) {
    Slot& slot = piece.slots[i];
    slot.tags.reserve(options_.queue_pairs);
    slot.data = data;
    slot.next = &piece.slots[(i + 1) % piece.slots.size()];
    slot.lkey = piece.memory.lkey();
    slot.rkey = piece.memory.rkey();
  }
  Slot& last = piece.slots.back();
  if (after != nullptr) {
    last.next = after->next;
    after->next = &piece.slots.front();
  }
  size_ += piece_size_;
  units_ += piece.slots.size();
  pieces_.push_back(std::move(piece));
  return &last;
}

std::size_t CircularAllocator::collect() noexcept {
  std::size_t waiting = 0;
  for (Piece& piece : pieces_) {
    for (Slot& slot : piece.slots) {
      waiting += slot.tags.forget_done() ? 0 : 1;
    }
  }
  return waiting;
}

bool CircularAllocator::invariant() const noexcept {
  std::size_t seen = 0;
  const Slot* slot = last_;
  do {
    slot = slot->next;
    ++seen;
  } while (slot != last_ && seen <= units_);
  return seen == units_ && size_ == pieces_.size() * piece_size_ && size_ <= options_.limit &&
         units_ == pieces_.size() * (piece_size_ / stride_);
}

}  // namespace dtutils
