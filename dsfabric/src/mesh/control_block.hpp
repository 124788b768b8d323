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

/// Where things lie in the block; the same in every process of a job: an EndNotice of each process,
/// written by that process about itself. A second half of the block, of the same layout, is
/// private: what a process writes to its peers, it writes from the same offset there.
class ControlLayout {
 public:
  explicit ControlLayout(std::uint32_t processes) noexcept : processes_(processes) {}

  std::size_t end_notice(ProcessId of) const noexcept { return of.value * sizeof(EndNotice); }
  /// Of the part that peers write into.
  std::size_t size() const noexcept { return processes_ * sizeof(EndNotice); }

 private:
  std::size_t processes_;
};

/// The block of this process: `at(offset)` is what peers write, `source(offset)` what is written to
/// peers from.
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
