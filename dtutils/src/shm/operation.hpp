// SPDX-License-Identifier: MIT
// An operation that a peer's sender was in the middle of, for who has to outlast it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "shm/peer.hpp"

namespace dtutils::shm {

/// Bytes of one message that are copied between two looks at what the peer still grants.
inline constexpr std::size_t kLongCopy = std::size_t{1} << 20;

/// How long set-up waits for a peer's sender that is inside an operation. An operation that runs
/// looks whether its memory is still registered after every kLongCopy bytes, so that one which
/// takes longer than this does not run: its process is stopped (SIGSTOP, a debugger, a freezer).
inline constexpr std::chrono::seconds kStoppedPatience{2};

// What is taken back from a stopped sender, and what is not. Closing a gate or a key keeps it from
// beginning anything new when it goes on. What it is in the middle of cannot be revoked: it holds
// addresses and copies by plain stores. So after the patience
//  - the queue pair that it uses is broken (kPeerStopped), and only that one;
//  - everything that it may still write to in shared tables and rings (region and queue pair
//    indices, slots) is kept until it was seen to have left, or died, and is given to nobody;
//  - a queue pair that was reset can be destroyed, but not connected again before that;
//  - bytes of the one message that it was copying may still arrive in the memory that the message
//    was for. In a SharedSegment that was freed they meet pages that nobody else has.
// Other regions, queue pairs and peers are not waited for and do not notice.

/// Taken when the send lock of the peer's queue pair was held, or empty.
struct Operation {
  Operation() = default;
  Operation(std::shared_ptr<Peer> of, const std::atomic<std::uint32_t>& send_lock) noexcept
      : peer(std::move(of)),
        lock(&send_lock),
        // seq_cst: after the caller closed what it takes back; see send_lock.hpp.
        seen(send_lock.load(std::memory_order_seq_cst)) {}

  /// False once it has ended, or the peer has died.
  bool runs() const noexcept {
    return (seen & 1) != 0 && lock->load(std::memory_order_acquire) == seen && !peer->dead();
  }
  /// Waits until it has ended; false when it still runs at `end`. Any thread.
  bool wait(std::chrono::steady_clock::time_point end) const noexcept;

  std::shared_ptr<Peer> peer;
  const std::atomic<std::uint32_t>* lock = nullptr;
  std::uint32_t seen = 0;
};

}  // namespace dtutils::shm
