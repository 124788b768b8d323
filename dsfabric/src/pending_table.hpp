// SPDX-License-Identifier: MIT
// Which Synchronizers end with which peer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "dsfabric/ids.hpp"
#include "dtutils/synchronizer.hpp"
#include "limits.hpp"

namespace dsfabric {

/// A table of slots, each free, or one Synchronizer and the peer it depends on, or about to be
/// failed. Any thread, lock-free; only a release that meets a failure of the same slot waits for
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
  /// Fails what is pending on the Synchronizers of `peer`. The watch thread only.
  void fail_all(ProcessId peer) noexcept;
  /// Fails all that is pending on one; nobody else may be about to decrement it.
  static void fail(dtutils::Synchronizer& synchronizer) noexcept {
    while (synchronizer.pending() != 0) {
      synchronizer.fail();
    }
  }

 private:
  // A word is 0 (free), a pointer with the peer above it, or one of these two. A slot that failed
  // stays its claimer's until the release.
  static constexpr std::uint64_t kFree = 0;
  static constexpr std::uint64_t kFailing = 1;
  static constexpr std::uint64_t kFailed = 2;
  static constexpr unsigned kPeerShift = 48;

  struct Slot {
    std::atomic<std::uint64_t> word{kFree};
  };
  std::unique_ptr<Slot[]> slots_;
  /// Where the next claim looks first.
  alignas(64) std::atomic<std::uint32_t> next_{0};
};

}  // namespace dsfabric
