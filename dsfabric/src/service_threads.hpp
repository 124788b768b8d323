// SPDX-License-Identifier: MIT
// The threads that serve messages to the process itself, and sleep when there are none.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "wake_fd.hpp"

namespace dsfabric {

class Core;
class ThreadContext;

/// Senders flag service messages as solicited, and the sleeper arms the completion queue for
/// solicited completions only: messages to workers wake nobody. One of the threads sleeps on the
/// device's channel; the others sleep until it has woken up
/// (tests/dsfabric/model/service_sleep.pml).
class ServiceThreads {
 public:
  /// Setup only.
  ServiceThreads(Core& core, std::uint32_t count);
  ServiceThreads(const ServiceThreads&) = delete;
  ServiceThreads& operator=(const ServiceThreads&) = delete;
  ~ServiceThreads();

  /// A worker has put a message into the service inbox. Any thread; a system call if they sleep.
  void wake() noexcept {
    // Sequentially consistent: pairs with sleep, after the count of waiting messages was raised.
    if (asleep_.load(std::memory_order_seq_cst)) {
      wake_.wake();
    }
  }

 private:
  void serve(std::uint32_t index);
  void sleep(ThreadContext& context);

  Core& core_;
  WakeFd wake_;
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stop_{false};
  /// Held by the one that sleeps on the channel.
  std::mutex sleeping_;
  std::vector<std::thread> threads_;
};

}  // namespace dsfabric
