// SPDX-License-Identifier: MIT
// The lock of one send queue, which doubles as the sign that tells a peer "I am using your memory".
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "dtutils/wait.hpp"

namespace dtutils::shm {

/// A queue pair executes its work in order, so posting threads take turns, as they do at the
/// doorbell of a network adapter. The word lives in the control segment: odd while held, and it
/// counts. A peer that wants to take back memory or a queue first closes it (region key or gate
/// becomes 0), then waits until the lock has passed: afterwards no operation that saw it open is
/// running. This is a Dekker pattern: (lock; read key) against (clear key; read lock); all four are
/// seq_cst so that at least one side sees the other.
class SendLock {
  static constexpr std::uint32_t kFirstPauses = 32;
  static constexpr std::uint32_t kMaxPauses = 512;
  /// Looks before the core is given away: a holder that still has not released has lost its own.
  static constexpr std::uint32_t kSpinLooks = 8;
  /// Looks before the waiter sleeps between them.
  static constexpr std::uint32_t kLooks = 256;
  static constexpr std::chrono::microseconds kSleep{50};

 public:
  explicit SendLock(std::atomic<std::uint32_t>& word) noexcept
      : word_(word), held_(try_take(word)) {
    if (held_ == 0) lock_slowly();
  }
  SendLock(const SendLock&) = delete;
  SendLock& operator=(const SendLock&) = delete;
  /// Release: pairs with the next holder's exchange and with wait_until_passed.
  ~SendLock() { give_back(word_, held_); }

  /// The same by hand: the word's value while held, or 0 when somebody else holds it.
  static std::uint32_t try_take(std::atomic<std::uint32_t>& word) noexcept {
    std::uint32_t free = word.load(std::memory_order_relaxed) & ~1u;
    const bool taken = word.compare_exchange_strong(free, free + 1, std::memory_order_seq_cst,
                                                    std::memory_order_relaxed);
    return taken ? free + 1 : 0;
  }
  static void give_back(std::atomic<std::uint32_t>& word, std::uint32_t held) noexcept {
    word.store(held + 1, std::memory_order_release);
  }

 private:
  /// Waits longer each time, so that the holder's thread gets a run of posts done while the word
  /// and all that it guards stay in its cache. Measured with threads_1_2_4_shared_qp: two threads
  /// on two cores reach 0.90 of one thread's rate (0.24 when they try again at once), four 0.63
  /// (0.40).
  void lock_slowly() noexcept {
    std::uint32_t pauses = kFirstPauses;
    for (std::uint32_t looks = 1;; ++looks) {
      for (std::uint32_t i = 0; i < pauses; ++i) cpu_pause();
      // Looks before it tries, so that the word stays with its holder.
      if ((word_.load(std::memory_order_relaxed) & 1) == 0) {
        held_ = try_take(word_);
        if (held_ != 0) return;
      }
      if (looks < kSpinLooks) {
        pauses = std::min(2 * pauses, kMaxPauses);
      } else if (looks < kLooks) {
        give_way();
      } else {
        looks = kLooks;
        sleep_for(kSleep);
      }
    }
  }

  std::atomic<std::uint32_t>& word_;
  /// The word's value while held.
  std::uint32_t held_;
};

/// Returns when whoever held the lock at the time of the call has released it. For threads of this
/// process; a peer's may be stopped, see operation.hpp.
inline void wait_until_passed(const std::atomic<std::uint32_t>& word) noexcept {
  const std::uint32_t seen = word.load(std::memory_order_seq_cst);
  Backoff backoff;
  while ((seen & 1) != 0 && word.load(std::memory_order_acquire) == seen) {
    backoff.pause();
  }
}

}  // namespace dtutils::shm
