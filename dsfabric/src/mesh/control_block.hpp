// SPDX-License-Identifier: MIT
// Wire format: the registered block of each process that its peers write into by themselves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "dsfabric/ids.hpp"
#include "dtutils/limits.hpp"
#include "dtutils/memory_region.hpp"
#include "dtutils/rdma_memory.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {

/// What a process tells a peer about its own end. It writes `reason` first, then `state`.
struct alignas(dtutils::kCacheLine) EndNotice {
  static constexpr std::uint64_t kLeft = 1;
  static constexpr std::uint64_t kFailed = 2;

  std::uint64_t state;
  /// Cut off where it is too long; ends with a zero, or with the field.
  char reason[248];

  void set(std::uint64_t its_state, std::string_view why) noexcept {
    why.copy(reason, sizeof reason);
    state = its_state;
  }
};
static_assert(sizeof(EndNotice) == 256 && offsetof(EndNotice, reason) == 8);

/// A word that one peer raises and the owner watches (collective_word.hpp).
struct alignas(dtutils::kCacheLine) Flag {
  std::uint64_t count;
};
static_assert(sizeof(Flag) == 64);

/// Where things lie in the block; the same in every process of a job, for it depends on the number
/// of processes and the largest number of workers only:
///
///     EndNotice[processes]                 written by each peer about itself
///     Flag[kBarrierRounds], twice          dissemination barrier, one a round, alternately
///     {Flag, bytes[gather_size]}[processes], twice      gathering, alternately
///
/// A second half of the block, of the same layout, is private: what a process writes to its peers,
/// it writes from the same offset there.
class ControlLayout {
 public:
  ControlLayout(std::uint32_t processes, std::uint32_t max_threads) noexcept
      : processes_(processes), gather_size_(max_threads * kGatherBytes) {}

  std::size_t end_notice(ProcessId of) const noexcept { return of.value * sizeof(EndNotice); }
  std::size_t barrier_flag(unsigned parity, unsigned round) const noexcept {
    return processes_ * sizeof(EndNotice) +
           (std::size_t{parity} * kBarrierRounds + round) * sizeof(Flag);
  }
  std::size_t gather_flag(unsigned parity, ProcessId of) const noexcept {
    return barrier_flag(2, 0) +
           (std::size_t{parity} * processes_ + of.value) * (sizeof(Flag) + gather_size_);
  }
  std::size_t gather_bytes(unsigned parity, ProcessId of) const noexcept {
    return gather_flag(parity, of) + sizeof(Flag);
  }
  std::size_t gather_size() const noexcept { return gather_size_; }
  /// Of the part that peers write into.
  std::size_t size() const noexcept { return gather_flag(2, ProcessId{0}); }

 private:
  std::size_t processes_;
  std::size_t gather_size_;
};

/// The own block: `at(offset)` is what peers write, `source(offset)` what is written to peers from.
class ControlBlock {
 public:
  ControlBlock(dtutils::RDMAMemory memory, const ControlLayout& layout) noexcept
      : layout_(layout), memory_(std::move(memory)) {}

  static std::size_t needed(const ControlLayout& layout) noexcept { return 2 * layout.size(); }
  const ControlLayout& layout() const noexcept { return layout_; }
  template <class T>
  T* at(std::size_t offset) const noexcept {
    return reinterpret_cast<T*>(memory_.data() + offset);
  }
  template <class T>
  T* source(std::size_t offset) const noexcept {
    return at<T>(layout_.size() + offset);
  }
  dtutils::LocalBuffer source_buffer(std::size_t offset, std::uint32_t length) const noexcept {
    return memory_.local(layout_.size() + offset, length);
  }
  dtutils::RemoteMemoryLocator remote() const noexcept { return memory_.remote(); }

 private:
  ControlLayout layout_;
  dtutils::RDMAMemory memory_;
};

}  // namespace dsfabric
