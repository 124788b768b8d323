// SPDX-License-Identifier: MIT
// Registered memory in units of one size, reused in turn as the work requests on them retire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dtutils/limits.hpp"
#include "dtutils/rdma_allocator.hpp"

namespace dtutils {

/// How a ring of units grows.
enum class Growth : std::uint8_t {
  /// By `initial_size` bytes each time.
  kLinear,
  /// To twice the size each time.
  kExponential,
};

/// Sizes count the chunks that are taken from the RDMAAllocator, in bytes.
struct CircularAllocatorOptions {
  /// Bytes of a unit; rounded up to whole cache lines.
  std::size_t unit_size = kPage;
  /// Taken at once; rounded up to whole chunks, or to one unit where that is larger.
  std::size_t initial_size = kChunk;
  /// Taken at most. Equal to `initial_size`: never grows.
  std::size_t limit = 16 * kChunk;
  /// How much is taken each time.
  Growth growth = Growth::kExponential;
  /// Queue pairs that may use one unit at the same time, see RDMAMemory::retire_at.
  std::uint32_t queue_pairs = kQueuePairsPerPiece;
};

/// A ring of units (Seriema 4.2). `allocate` goes to the next unit when no handle on it is left and
/// its tags are done. It never skips a unit, so one slow queue pair holds up the others that use
/// the same allocator: where that matters, make one for each transmitter and thread.
///
/// Owner thread only, also for the units. The source outlives it; it outlives its units. Chunks go
/// back to the source in its destructor, those with tags that are not done into quarantine there.
class CircularAllocator {
 public:
  /// Takes the initial units. Throws Error when the sizes do not fit each other or the source has
  /// no memory. Setup only.
  explicit CircularAllocator(RDMAAllocator& source, const CircularAllocatorOptions& options = {});
  CircularAllocator(const CircularAllocator&) = delete;
  CircularAllocator& operator=(const CircularAllocator&) = delete;
  ~CircularAllocator();

  /// The next unit, as the last user left it; empty when it is not free yet and the ring cannot
  /// grow: then let work requests retire and try again. Never waits, and never allocates except to
  /// grow, which may go up to a new superpage. A ring whose source had nothing to give does not ask
  /// again until `grow` is called. Wait-free when it need not grow.
  [[nodiscard]] std::optional<RDMAMemory> allocate() noexcept {
    Slot* const next = last_->next;
    if (next->reusable()) {
      return hand_out(*next);
    }
    return allocate_growing();
  }

  /// One growth step now, so that `allocate` need not do it later; false when the limit is reached
  /// or the source has nothing to give. Setup only.
  bool grow() noexcept;

  /// Forgets the tags that are done; returns the units that still wait for one. A queue pair whose
  /// counter is about to go away must not leave tags behind: collect until this returns 0. Looks at
  /// every unit; setup only.
  std::size_t collect() noexcept;

  /// Bytes of a unit, rounded up. Any thread, wait-free.
  std::size_t unit_size() const noexcept { return options_.unit_size; }
  /// Units in the ring.
  std::size_t units() const noexcept { return units_; }
  /// Bytes taken from the source.
  std::size_t size() const noexcept { return size_; }

  /// Checks the ring; for tests.
  bool invariant() const noexcept;

 private:
  struct Slot : detail::MemorySlot {
    std::byte* data = nullptr;
    Slot* next = nullptr;
    std::uint32_t lkey = 0;
    std::uint32_t rkey = 0;
  };
  /// One row of chunks and the units in it.
  struct Piece {
    RDMAMemory memory;
    std::vector<Slot> slots;
  };

  RDMAMemory hand_out(Slot& slot) noexcept {
    last_ = &slot;
    slot.tags.clear();
    return {slot.data, options_.unit_size, slot.lkey, slot.rkey, source_.zone(), slot};
  }
  std::optional<RDMAMemory> allocate_growing() noexcept;
  void extend(std::size_t bytes);
  Slot* add_piece(Slot* after);

  RDMAAllocator& source_;
  CircularAllocatorOptions options_;
  /// Bytes from one unit to the next, and of one piece.
  std::size_t stride_;
  std::size_t piece_size_;
  std::size_t size_ = 0;
  std::size_t units_ = 0;
  bool source_is_empty_ = false;
  /// The unit that was handed out last; new units enter behind it.
  Slot* last_ = nullptr;
  std::vector<Piece> pieces_;
};

}  // namespace dtutils
