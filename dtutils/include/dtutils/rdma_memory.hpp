// SPDX-License-Identifier: MIT
// The owning handle on a piece of registered memory, tagged with the work requests that use it.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "dtutils/detail/memory_slot.hpp"
#include "dtutils/memory_region.hpp"
#include "dtutils/numa.hpp"

namespace dtutils {

/// A piece of registered memory from one of the allocators (Seriema 4.1, 4.2). It goes back when
/// its last handle is destroyed, and is handed out again when its tags are done: so it is right to
/// post a write, tag the memory and let the handle go at once. Nothing here waits.
///
///     allocator --allocate--> handle --post, retire_at, destroy--> quarantine --done--> allocator
///
/// Bytes are as the last user left them, zeros at first. The allocator outlives its handles. One
/// piece's handles belong to one thread at a time; moving them to another thread is allowed where
/// the allocator says so. Owner thread only.
class RDMAMemory {
 public:
  /// An empty handle.
  RDMAMemory() noexcept = default;

  /// For allocators: one more handle on the piece of `slot`.
  RDMAMemory(std::byte* data, std::size_t size, std::uint32_t lkey, std::uint32_t rkey,
             NumaZone zone, detail::MemorySlot& slot) noexcept
      : data_(data), size_(size), lkey_(lkey), rkey_(rkey), zone_(zone), slot_(&slot) {
    ++slot.handles;
  }
  /// Takes the piece over; `other` is empty afterwards.
  RDMAMemory(RDMAMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        lkey_(other.lkey_),
        rkey_(other.rkey_),
        zone_(other.zone_),
        slot_(std::exchange(other.slot_, nullptr)) {}
  /// Gives back the piece of this handle, and takes over that of `other`.
  RDMAMemory& operator=(RDMAMemory&& other) noexcept {
    RDMAMemory moved(std::move(other));
    std::swap(data_, moved.data_);
    std::swap(size_, moved.size_);
    std::swap(lkey_, moved.lkey_);
    std::swap(rkey_, moved.rkey_);
    std::swap(zone_, moved.zone_);
    std::swap(slot_, moved.slot_);
    return *this;
  }
  RDMAMemory(const RDMAMemory&) = delete;
  RDMAMemory& operator=(const RDMAMemory&) = delete;
  ~RDMAMemory() { reset(); }

  /// Whether it holds a piece.
  explicit operator bool() const noexcept { return slot_ != nullptr; }
  /// The first byte.
  std::byte* data() const noexcept { return data_; }
  /// Bytes, at least as many as were requested.
  std::size_t size() const noexcept { return size_; }
  /// The key for work requests of this process.
  std::uint32_t lkey() const noexcept { return lkey_; }
  /// The key for work requests of peers.
  std::uint32_t rkey() const noexcept { return rkey_; }
  /// The zone that the allocator took it from.
  NumaZone zone() const noexcept { return zone_; }

  /// A part as local side of a work request. Offset and length lie inside the piece.
  LocalBuffer local(std::size_t offset, std::uint32_t length) const noexcept {
    assert(offset <= size_ && length <= size_ - offset);
    return {data_ + offset, length, lkey_};
  }
  /// All of it; a work request carries less than 4 GiB, so the piece must be smaller.
  LocalBuffer local() const noexcept {
    assert(size_ <= std::numeric_limits<std::uint32_t>::max());
    return local(0, static_cast<std::uint32_t>(size_));
  }
  /// What a peer needs to reach it. `process` is for the layer above to fill in.
  RemoteMemoryLocator remote() const noexcept {
    return {reinterpret_cast<std::uint64_t>(data_), size_, rkey_, 0, zone_.node};
  }

  /// A further handle on a part: the piece goes back when all its handles are gone, and tags of any
  /// of them count for the whole piece.
  RDMAMemory part(std::size_t offset, std::size_t size) const noexcept {
    assert(slot_ != nullptr && offset <= size_ && size <= size_ - offset);
    return {data_ + offset, size, lkey_, rkey_, zone_, *slot_};
  }

  /// Call it after each post that uses the piece: the allocator hands the memory out again only
  /// when the tag is done. Wait-free, never allocates. False when more queue pairs than
  /// `queue_pairs` of the allocator's options use the piece at once: then keep the handle until the
  /// tag is done. An empty tag changes nothing.
  [[nodiscard]] bool retire_at(RetireTag tag) noexcept {
    assert(slot_ != nullptr);
    return slot_->tags.add(tag);
  }

  /// Whether every use it was tagged with is over.
  bool retired() const noexcept { return slot_ == nullptr || slot_->tags.done(); }

  /// The only handle on its piece.
  bool unshared() const noexcept { return slot_ != nullptr && slot_->handles == 1; }

  /// For allocators that build on others: takes over the tags of a piece that was cut from this
  /// one. When there is no memory for them, this piece is never handed out again. Setup only.
  void absorb(const RetireTags& tags) noexcept {
    try {
      slot_->tags.absorb(tags);
    } catch (const std::bad_alloc&) {
      ++slot_->handles;
    }
  }

  /// Gives it back now; the handle is empty afterwards.
  void reset() noexcept {
    if (slot_ != nullptr && --slot_->handles == 0 && slot_->owner != nullptr) {
      slot_->owner->take_back(*slot_);
    }
    slot_ = nullptr;
    data_ = nullptr;
    size_ = 0;
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t lkey_ = 0;
  std::uint32_t rkey_ = 0;
  NumaZone zone_;
  detail::MemorySlot* slot_ = nullptr;
};

}  // namespace dtutils
