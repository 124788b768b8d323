// SPDX-License-Identifier: MIT
// Wire format: the registered memory of a process that the others of a group write into in rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "dsfabric/detail/sparse_array.hpp"
#include "dtutils/limits.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/transmitter.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {

/// A word that one peer raises and the owner watches (collective_word.hpp).
struct alignas(dtutils::kCacheLine) Flag {
  std::uint64_t count;
};
static_assert(sizeof(Flag) == 64);

/// Where things lie in the block; the same at every process of a group, for it depends on the
/// number of its processes and their largest number of workers only:
///
///     Flag[rounds][kCollectiveRadix - 1], twice      of a barrier, alternately
///     Flag[rounds][kCollectiveRadix - 1], twice      of a gathering, alternately
///     Flag[2], twice                                 private: from where words are written to
///     peers bytes[slot_bytes][processes], twice      what is gathered, alternately: slot i is that
///     of the
///                                              process i places after this one
class RoundLayout {
 public:
  enum class Kind : std::uint8_t { kBarrier, kGathering };

  RoundLayout(std::uint32_t processes, std::uint32_t max_workers) noexcept
      : processes_(processes), slot_bytes_(max_workers * kGatherBytes) {}

  /// `partner`: from 1 to kCollectiveRadix - 1; where there is one round only, to kOneRound - 1.
  static constexpr std::size_t flag(Kind kind, unsigned parity, unsigned round,
                                    unsigned partner) noexcept {
    return (place(kind, parity) * kFlags + round * (kCollectiveRadix - 1) + partner - 1) *
           sizeof(Flag);
  }
  static constexpr std::size_t source(Kind kind, unsigned parity) noexcept {
    return (4 * kFlags + place(kind, parity)) * sizeof(Flag);
  }
  std::size_t slot(unsigned parity, std::uint32_t i) const noexcept {
    return (4 * kFlags + 4) * sizeof(Flag) + (std::size_t{parity} * processes_ + i) * slot_bytes_;
  }
  std::size_t processes() const noexcept { return processes_; }
  std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  std::size_t size() const noexcept { return slot(2, 0); }

 private:
  static constexpr std::size_t kFlags = std::size_t{kCollectiveRounds} * (kCollectiveRadix - 1);
  static constexpr std::size_t place(Kind kind, unsigned parity) noexcept {
    return static_cast<std::size_t>(kind) * 2 + parity;
  }

  std::size_t processes_;
  std::size_t slot_bytes_;
};

/// The block of this process, and where the others are. Any thread, wait-free.
class RoundBlock {
 public:
  /// `memory` has the size of the layout, or more. Setup only.
  RoundBlock(dtutils::RDMAMemory memory, const RoundLayout& layout)
      : layout_(layout), memory_(std::move(memory)), peers_(layout.processes()) {
    // Not all of a chunk, whose pages nobody uses.
    std::memset(memory_.data(), 0, layout_.size());
  }

  const RoundLayout& layout() const noexcept { return layout_; }
  std::byte* at(std::size_t offset) const noexcept { return memory_.data() + offset; }
  std::uint64_t& word(std::size_t flag) const noexcept {
    return reinterpret_cast<Flag*>(at(flag))->count;
  }
  dtutils::RemoteMemoryLocator remote() const noexcept { return memory_.remote(); }
  /// By index of the process, before anything is written to it. One at a time; setup only.
  void set_peer(std::uint32_t index, const dtutils::RemoteMemoryLocator& where) {
    peers_.at(index) = where;
  }

  /// Writes `length` bytes from `source` here to `offset` in the block of the peer with this index,
  /// by a Transmitter to it. False: its connection is broken, or it was never reached.
  bool write(dtutils::Transmitter& out, std::uint32_t index, std::size_t offset, std::size_t source,
             std::size_t length) noexcept {
    const dtutils::RemoteMemoryLocator* const there = peers_.find(index);
    if (there == nullptr) [[unlikely]]
      return false;
    const unsigned flags =
        length <= out.queue_pair().max_inline() ? dtutils::kInlined : dtutils::kUnsignaled;
    return out.write(memory_.local(source, static_cast<std::uint32_t>(length)),
                     there->part(offset, length), flags);
  }

 private:
  RoundLayout layout_;
  dtutils::RDMAMemory memory_;
  detail::SparseArray<dtutils::RemoteMemoryLocator> peers_;
};

}  // namespace dsfabric
