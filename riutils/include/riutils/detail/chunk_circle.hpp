// SPDX-License-Identifier: MIT
// The chunks that a sender was given, in their circle, and how it asks for more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "dsfabric/return_slot.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/rdma_memory.hpp"
#include "riutils/detail/ring_header.hpp"
#include "riutils/options.hpp"

namespace riutils::detail {

/// What a sender is given by the process of the receiver: chunks, in their order.
struct Grant {
  /// Chunks in one grant at most.
  static constexpr std::uint32_t kMaxChunks = 16;
  std::uint32_t count = 0;
  dtutils::RemoteMemoryLocator chunks[kMaxChunks];
};

/// The remote chunks of one ring, each with a mirror in local memory while it is in use. A
/// service call requests chunks, and its answer arrives by RDMA: neither end waits for the other's
/// worker. README.md says who owns which bytes.
///
/// Owner thread only.
class ChunkCircle {
 public:
  ChunkCircle(dsfabric::Fabric& fabric, dsfabric::ThreadId to, RingKind kind,
              const RingOptions& options);

  /// No chunk was granted yet.
  bool empty() const noexcept { return slots_.empty(); }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
  /// A chunk is in use.
  bool entered() const noexcept { return sequence_ != 0; }
  /// The receiver has left the next chunk.
  bool next_is_free() const noexcept;

  /// A mirror for the next chunk: that which it has, or new memory. Empty where there is none.
  dtutils::RDMAMemory take_next_mirror(dtutils::NumaZone zone) noexcept;
  /// Memory of a chunk's size. Empty where there is none.
  dtutils::RDMAMemory local_chunk(dtutils::NumaZone zone) noexcept;
  /// The word that ends the chunk in use for the receiver.
  std::uint64_t control_word() const noexcept {
    return RingHeader{RingHeader::kControl, grown_, 0}.encode();
  }
  /// Goes on to the next chunk, which is free, and gives it this mirror. Answers the chunk.
  const dtutils::RemoteMemoryLocator& use_next(dtutils::RDMAMemory mirror) noexcept;
  /// Of the chunk in use.
  dtutils::LocalBuffer mirror() const noexcept { return slots_[slot_].mirror.local(); }

  /// There may be more chunks, and nobody asks for them now.
  bool may_ask() const noexcept { return !asked_ && !refused_ && wanted() != 0; }
  bool asked() const noexcept { return asked_; }
  /// Asks for the first chunks or for more; only if may_ask(). May run handlers. False: the peer is
  /// gone. Throws Error when too many calls wait for a result.
  [[nodiscard]] bool ask();
  /// The answer is here.
  bool answered() noexcept { return asked_ && grant_.done(); }
  /// Takes the chunks of the answer into the circle. False: the peer is gone.
  [[nodiscard]] bool take_grant();
  /// Throws Error when there are no chunks and none will come.
  void require_any() const;

 private:
  static constexpr std::uint64_t kUnused = std::numeric_limits<std::uint64_t>::max();

  struct Slot {
    dtutils::RemoteMemoryLocator chunk;
    /// May be missing while the chunk is not in use.
    dtutils::RDMAMemory mirror;
    /// Which chunk of the stream it carries.
    std::uint64_t sequence = kUnused;
  };

  std::uint32_t wanted() const noexcept;
  std::size_t next() const noexcept { return (slot_ + 1) % slots_.size(); }

  dsfabric::Fabric& fabric_;
  const dsfabric::ThreadId to_;
  const RingKind kind_;
  const RingOptions options_;
  std::vector<Slot> slots_;
  std::size_t slot_ = 0;
  /// Chunks of the stream so far.
  std::uint64_t sequence_ = 0;
  /// New chunks behind the one in use, of which the receiver was not told.
  std::uint32_t grown_ = 0;
  /// Mirrors that no remote chunk needs.
  std::vector<dtutils::RDMAMemory> spare_;
  /// Where the receiver writes how many chunks it has consumed.
  dtutils::RDMAMemory consumed_;
  dsfabric::ReturnSlot<Grant> grant_;
  bool asked_ = false;
  bool refused_ = false;
};

}  // namespace riutils::detail
