// SPDX-License-Identifier: MIT
// Registered memory of one NUMA zone: superpages, registered once, handed out in 2 MB chunks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dtutils/limits.hpp"
#include "dtutils/numa.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/shared_segment.hpp"

namespace dtutils {

class Superpage;
struct ChunkRecord;

/// What a user may choose about an RDMAAllocator.
struct RDMAAllocatorOptions {
  /// Bytes taken from the system and registered at once, a multiple of kChunk; lowered to `limit`.
  /// On 4 KB pages untouched memory costs nothing on shm, while a verbs device pins all of it.
  std::size_t superpage = kSuperpage;
  /// Bytes taken from the system at most.
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  /// The name by which the user of the program knows `limit`: errors advise to raise it.
  std::string limit_name = "RDMAAllocatorOptions::limit";
  /// Tried in this order for each superpage. 1 GB pages are for superpages of whole GiB only.
  std::vector<PageKind> page_kinds = {PageKind::kHuge1GB, PageKind::kHuge2MB,
                                      PageKind::kTransparentHuge, PageKind::kSmall};
  /// Rights of the regions, IBV_ACCESS_* flags.
  int access = kAccessAll;
  /// Queue pairs that may use one piece at the same time, see RDMAMemory::retire_at.
  std::uint32_t queue_pairs = kQueuePairsPerPiece;
};

/// The lowest allocator (Seriema 4.2), one per NUMA zone; the others take their memory from it.
/// Pieces are whole chunks of 2 MB and start at a multiple of 2 MB. A piece that comes back before
/// its tags are done waits in quarantine: it is looked at again when free chunks run out.
///
/// Superpages stay until the allocator is destroyed. It outlives the memory that it handed out, and
/// the protection domain outlives it.
class RDMAAllocator final : private detail::MemoryOwner {
 public:
  /// Takes and registers the first superpage, so that missing huge pages, a small memlock limit or
  /// a too small limit show here. Throws Error. Setup only.
  RDMAAllocator(ProtectionDomain& pd, NumaZone zone, RDMAAllocatorOptions options = {});
  RDMAAllocator(const RDMAAllocator&) = delete;
  RDMAAllocator& operator=(const RDMAAllocator&) = delete;
  ~RDMAAllocator();

  /// Chunks in a row that hold `bytes`, out of the superpages that are there; empty when they have
  /// no such row. Handles may move to other threads. Any thread, lock-free; it may miss chunks that
  /// another thread gives back at the same time, and rows that another thread tries at the same
  /// time.
  [[nodiscard]] std::optional<RDMAMemory> try_allocate(std::size_t bytes = kChunk) noexcept;

  /// As try_allocate, but takes another superpage from the system when needed; a piece larger than
  /// a superpage gets a segment of its own, which goes back to the system when the piece is done.
  /// Throws Error when the limit is reached or the system has no memory; before that it waits for
  /// pieces that are done and in the hands of another thread. Any thread (takes a lock when no
  /// chunks are free; setup only).
  RDMAMemory allocate(std::size_t bytes = kChunk);

  /// Frees what is done in quarantine; returns the pieces that still wait there. A queue pair whose
  /// counter is about to go away must not leave tags behind: collect until this returns 0. Any
  /// thread; gives own segments back to the system.
  std::size_t collect() noexcept;

  /// The zone that its memory lies in. Any thread, wait-free.
  NumaZone zone() const noexcept { return zone_; }
  /// Bytes of a superpage. Any thread, wait-free.
  std::size_t superpage() const noexcept { return options_.superpage; }
  /// The pages of the superpage or segment that was taken last. Any thread, wait-free.
  PageKind page_kind() const noexcept { return page_kind_.load(std::memory_order_relaxed); }
  /// The same in a sentence, with the reason why it was not a preferred kind. Any thread.
  std::string report() const;
  /// Bytes taken from the system. Any thread.
  std::size_t reserved() const noexcept { return reserved_.load(std::memory_order_relaxed); }
  /// Bytes handed out or in quarantine; exact while no thread allocates. Any thread.
  std::size_t in_use() const;

  /// Checks the records against each other, for tests. No other thread may use the allocator
  /// meanwhile.
  bool invariant() const;

 private:
  void take_back(detail::MemorySlot& slot) noexcept override;
  void give_back(ChunkRecord& record) noexcept;
  void quarantine(ChunkRecord& record) noexcept;
  std::size_t sweep(bool segments_too) noexcept;
  std::optional<RDMAMemory> claim(std::size_t chunks) noexcept;
  /// As claim(), and nothing means that there was nothing, also in quarantine: one look along the
  /// bitmap misses a chunk that is freed behind it while the same thread claims one ahead of it.
  /// With `sweeping_`.
  std::optional<RDMAMemory> claim_for_certain(std::size_t chunks) noexcept;
  void publish(std::unique_ptr<Superpage> superpage);
  std::unique_ptr<Superpage> take_from_system(std::size_t bytes, std::size_t chunk);
  std::string name() const;

  ProtectionDomain& pd_;
  const NumaZone zone_;
  RDMAAllocatorOptions options_;
  /// Held by the one thread that sweeps: it has the pieces in quarantine in its hands. Taken before
  /// `growing_`.
  std::mutex sweeping_;
  /// Guards taking memory from the system and giving it back: `superpages_`, `segments_`,
  /// `report_`.
  mutable std::mutex growing_;
  std::vector<std::unique_ptr<Superpage>> superpages_;
  std::vector<std::unique_ptr<Superpage>> segments_;
  std::string report_;
  std::atomic<PageKind> page_kind_{PageKind::kSmall};
  std::atomic<std::size_t> reserved_{0};
  /// Heads of lists for those who take no lock: superpages, only ever appended to, and pieces that
  /// came back before their tags were done.
  std::atomic<Superpage*> first_{nullptr};
  std::atomic<ChunkRecord*> quarantine_{nullptr};
  /// Pieces that became free so far.
  std::atomic<std::uint64_t> freed_{0};
};

}  // namespace dtutils
