// SPDX-License-Identifier: MIT
// The threads that serve messages to the process itself, and sleep when there are none.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "dtutils/joinable_thread.hpp"
#include "dtutils/mutex.hpp"
#include "failure/own_failure.hpp"
#include "mesh/receive_queue.hpp"
#include "messages/message_engine.hpp"
#include "threads/service_sleep.hpp"
#include "threads/thread_registry.hpp"

namespace dsfabric {

/// Senders flag service messages as solicited, and the sleeper arms the completion queue for
/// solicited completions only: messages to workers wake nobody. One of the threads sleeps on the
/// device's channel; the others sleep until it has woken up
/// (tests/dsfabric/model/service_sleep.pml).
class ServiceThreads {
 public:
  /// They run from here on. Setup only.
  ServiceThreads(std::uint32_t count, ThreadRegistry& threads, ReceiveQueue& receive_queue,
                 ServiceSleep& service_sleep, MessageEngine& messages, OwnFailure& own_failure);
  ServiceThreads(const ServiceThreads&) = delete;
  ServiceThreads& operator=(const ServiceThreads&) = delete;
  ~ServiceThreads();

 private:
  void serve(std::uint32_t index);
  void sleep(ThreadContext& context);

  ThreadRegistry& registry_;
  ReceiveQueue& receive_queue_;
  ServiceSleep& service_sleep_;
  MessageEngine& messages_;
  OwnFailure& own_failure_;
  std::atomic<bool> stop_{false};
  /// Held by the one that sleeps on the channel.
  dtutils::Mutex sleeping_;
  std::vector<dtutils::JoinableThread> threads_;
};

}  // namespace dsfabric
