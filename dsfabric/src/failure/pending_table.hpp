// SPDX-License-Identifier: MIT
// Which Synchronizers end with which peer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "dsfabric/ids.hpp"
#include "dtutils/synchronizer.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {

/// A table of slots, each free, or one Synchronizer and the peer it depends on, or about to be
/// failed. Any thread, lock-free; only a release that meets the end of the same slot waits for
/// it, a few instructions.
class PendingTable {
 public:
  PendingTable() : slots_(std::make_unique<Slot[]>(kPendingSlots)) {}
  PendingTable(const PendingTable&) = delete;
  PendingTable& operator=(const PendingTable&) = delete;

  /// No slot was free.
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  std::uint32_t claim(ProcessId peer, dtutils::Synchronizer& synchronizer) noexcept;
  void release(std::uint32_t slot) noexcept;
  /// Fails what is pending on the Synchronizers of `peer`. The failure detector's thread only.
  void fail_all(ProcessId peer) noexcept;
  /// If a reply of `peer` is pending in this slot: `deliver(synchronizer)` puts it where it
  /// belongs, and decrements or fails, so that its waiter goes on. fail_all does not touch that
  /// slot meanwhile, nor afterwards.
  template <class Deliver>
  void complete(std::uint32_t slot, ProcessId peer, Deliver&& deliver) noexcept {
    std::atomic<std::uint64_t>& word = slots_[slot].word;
    std::uint64_t seen = word.load(std::memory_order_relaxed);
    // Acquire: pairs with claim, so that the Synchronizer is seen as it was prepared.
    if (seen <= kEnded || seen >> kPeerShift != peer.value ||
        !word.compare_exchange_strong(seen, kEnding, std::memory_order_acquire)) {
      return;
    }
    dtutils::Synchronizer& synchronizer = synchronizer_of(seen);
    if (!synchronizer.done()) deliver(synchronizer);
    // Release: pairs with release(), which waits for it.
    word.store(kEnded, std::memory_order_release);
  }
  /// Fails all that is pending on one; nobody else may be about to decrement it.
  static void fail(dtutils::Synchronizer& synchronizer) noexcept {
    while (synchronizer.pending() != 0) {
      synchronizer.fail();
    }
  }

 private:
  // A word is 0 (free), a pointer with the peer above it, or one of these two. A slot whose reply
  // came or failed stays its claimer's until the release.
  static constexpr std::uint64_t kFree = 0;
  static constexpr std::uint64_t kEnding = 1;
  static constexpr std::uint64_t kEnded = 2;
  static constexpr unsigned kPeerShift = 48;

  static dtutils::Synchronizer& synchronizer_of(std::uint64_t word) noexcept {
    return *reinterpret_cast<dtutils::Synchronizer*>(word & ((std::uint64_t{1} << kPeerShift) - 1));
  }

  struct Slot {
    std::atomic<std::uint64_t> word{kFree};
  };
  std::unique_ptr<Slot[]> slots_;
  /// Where the next claim looks first.
  alignas(64) std::atomic<std::uint32_t> next_{0};
};

}  // namespace dsfabric
