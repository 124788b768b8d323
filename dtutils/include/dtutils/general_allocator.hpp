// SPDX-License-Identifier: MIT
// Registered memory of any size for any time: first fit or best fit, freed and coalesced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "dtutils/limits.hpp"
#include "dtutils/rdma_allocator.hpp"

namespace dtutils {

/// Which free block a piece is cut from.
enum class Fit : std::uint8_t {
  /// The free block at the lowest address that is large enough.
  kFirst,
  /// The smallest free block that is large enough; among equals the one at the lowest address.
  kBest,
};

/// What a user may choose about a GeneralAllocator.
struct GeneralAllocatorOptions {
  /// Which free block a piece is cut from.
  Fit fit = Fit::kBest;
  /// Bytes taken from the RDMAAllocator at once, unless one request needs more.
  std::size_t area_size = kChunk;
  /// Bytes taken from the RDMAAllocator at most.
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  /// Queue pairs that may use one piece at the same time, see RDMAMemory::retire_at.
  std::uint32_t queue_pairs = kQueuePairsPerPiece;
};

/// The general allocator (Seriema 4.2). Its records lie outside of the memory that it hands out.
/// Two pieces never share a cache line. Neighbours that are free become one block; an area that is
/// all free goes back to the RDMAAllocator at once.
///
/// A piece may be used and destroyed by another thread than the one that allocated it. The source
/// outlives the allocator, which outlives its pieces; what is not done goes into quarantine at the
/// source.
class GeneralAllocator final : private detail::MemoryOwner {
 public:
  /// Takes no memory yet. Throws Error when the sizes do not fit each other. Setup only.
  explicit GeneralAllocator(RDMAAllocator& source, const GeneralAllocatorOptions& options = {});
  GeneralAllocator(const GeneralAllocator&) = delete;
  GeneralAllocator& operator=(const GeneralAllocator&) = delete;
  ~GeneralAllocator();

  /// A piece of exactly `bytes` (at least 1) at a multiple of `alignment`, a power of two; of
  /// kCacheLine at least. Throws Error that says what is exhausted. Any thread (takes a lock; setup
  /// only), as is the destruction of the piece.
  RDMAMemory allocate(std::size_t bytes, std::size_t alignment = kCacheLine);
  /// The same for callers that must not throw: empty instead of an Error.
  [[nodiscard]] std::optional<RDMAMemory> try_allocate(std::size_t bytes,
                                                       std::size_t alignment = kCacheLine) noexcept;

  /// Frees pieces that came back before their tags were done and are done now; the number of those
  /// that still wait. `allocate` does it too. Any thread (takes a lock; setup only).
  std::size_t collect() noexcept;

  /// The zone of its source. Any thread, wait-free.
  NumaZone zone() const noexcept { return source_.zone(); }
  /// Bytes taken from the RDMAAllocator. Any thread (takes a lock).
  std::size_t reserved() const;
  /// Bytes handed out or waiting for their tags, in whole cache lines. Any thread (takes a lock).
  std::size_t in_use() const;

  /// Checks that the blocks tile the areas and that no two neighbours are free. Any thread (takes a
  /// lock); for tests.
  bool invariant() const;

 private:
  struct FreeKey {
    std::size_t size;
    std::byte* address;
  };
  struct FreeOrder {
    Fit fit;
    bool operator()(const FreeKey& a, const FreeKey& b) const noexcept {
      return fit == Fit::kBest && a.size != b.size ? a.size < b.size : a.address < b.address;
    }
  };
  using FreeSet = std::set<FreeKey, FreeOrder>;
  using Areas = std::list<RDMAMemory>;

  /// A part of an area; neighbours in the map are neighbours in memory, within an area.
  struct Block : detail::MemorySlot {
    Areas::iterator area;
    std::byte* address = nullptr;
    std::size_t size = 0;
    /// The block's node of `free_`, kept here while it is not free: freeing it allocates nothing.
    FreeSet::node_type node;
    /// In the list of those that wait for their tags.
    Block* next = nullptr;

    bool free() const noexcept { return node.empty(); }
    FreeKey key() const noexcept { return {size, address}; }
  };
  using Blocks = std::map<std::byte*, Block>;

  void take_back(detail::MemorySlot& slot) noexcept override;
  FreeSet::iterator find(std::size_t size, std::size_t alignment) noexcept;
  FreeSet::iterator add_area(std::size_t size, std::size_t alignment);
  Block& carve(FreeSet::iterator from, std::size_t size, std::size_t alignment);
  Blocks::iterator split(Blocks::iterator at, std::size_t size);
  void free(Blocks::iterator at) noexcept;
  static bool joins(const Block& block, const Block& after) noexcept;
  std::size_t sweep() noexcept;

  RDMAAllocator& source_;
  GeneralAllocatorOptions options_;
  mutable std::mutex mutex_;
  Areas areas_;
  Blocks blocks_;
  FreeSet free_;
  Block* waiting_ = nullptr;
  std::size_t reserved_ = 0;
  std::size_t in_use_ = 0;
};

}  // namespace dtutils
