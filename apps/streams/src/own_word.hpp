// SPDX-License-Identifier: MIT
// The word about this side's offer, as its owner changes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "dtutils/completion_queue.hpp"
#include "dtutils/memory_region.hpp"
#include "dtutils/queue_pair.hpp"

namespace streams {

/// A word in registered memory of this side, which the peer changes by remote compare-and-swap, and
/// this side, too. The processor does it where the device promises that its atomics and those of
/// the processor exclude each other (always on shm). Elsewhere the device does it, by a queue pair
/// to itself: an adapter serialises its own atomics (IBV_ATOMIC_HCA, ibv_query_device(3)). Owner
/// thread only.
class OwnWord {
 public:
  /// `word` and `answer` lie in `region`; what the device finds goes to `answer`. Throws Error.
  OwnWord(dtutils::ProtectionDomain& domain, const dtutils::MemoryRegion& region,
          std::uint64_t& word, std::uint64_t& answer, bool by_device);

  /// Both sides can change such a word on this device.
  static bool possible(dtutils::Device& device) noexcept { return device.info().atomics; }
  /// And the processor must not.
  static bool needs_device(dtutils::Device& device) noexcept {
    return !device.info().atomics_with_cpu;
  }

  /// seq_cst, as all accesses to this word.
  std::uint64_t load() const noexcept { return std::atomic_ref(word_).load(); }
  /// As std::atomic; `expected` becomes what was found. False also when the device has failed, and
  /// then `broken`.
  bool compare_exchange(std::uint64_t& expected, std::uint64_t desired) noexcept;
  /// Waits for the device, not for the peer.
  void store(std::uint64_t value) noexcept;
  bool broken() const noexcept { return broken_; }

 private:
  /// A queue pair that is connected with itself.
  struct Loop {
    Loop(dtutils::ProtectionDomain& domain);

    dtutils::CompletionQueue completions;
    dtutils::QueuePair pair;
  };

  std::uint64_t& word_;
  std::uint64_t& answer_;
  const dtutils::MemoryRegion& region_;
  /// Null: by the processor.
  std::unique_ptr<Loop> loop_;
  bool broken_ = false;
};

}  // namespace streams
