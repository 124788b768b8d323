// SPDX-License-Identifier: MIT
// What a thread holds while it runs, and sleeps for.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace dtutils::sim {

/// One futex(2), without the spinning of std::binary_semaphore: all threads of a simulation share a
/// core.
class Baton {
 public:
  /// To its owner, who may not have come to `take` yet. Release: pairs with take.
  void give() noexcept {
    word_.store(1, std::memory_order_release);
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void take() noexcept {
    while (word_.exchange(0, std::memory_order_acquire) == 0) {
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
  }
  /// For who gives or takes it in assembly: 1 given, 0 taken.
  std::uint32_t* word() noexcept { return reinterpret_cast<std::uint32_t*>(&word_); }

 private:
  std::atomic<std::uint32_t> word_{0};
};
static_assert(sizeof(Baton) == 4);

}  // namespace dtutils::sim
