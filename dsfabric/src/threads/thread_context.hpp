// SPDX-License-Identifier: MIT
// What one thread has of its own in a fabric: a number, an inbox, memory for sending.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dsfabric/detail/future_pool.hpp"
#include "dsfabric/detail/peer_counts.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/linear_circular_allocator.hpp"
#include "threads/inbox.hpp"
#include "threads/local_pool.hpp"

namespace dsfabric {

/// Owner thread only, except `inbox.push`, `taken`, reading the counters, and what comes back
/// to `local_pools`.
class ThreadContext {
 public:
  /// In a job of so many processes.
  ThreadContext(std::uint32_t its_number, ThreadId its_name, std::uint32_t processes)
      : number(its_number), name(its_name), calls_sent(processes), calls_run(processes) {}

  /// Among all thread contexts of the process: workers first.
  const std::uint32_t number;
  /// How its messages are signed: a worker's ThreadId, or that of the service threads.
  const ThreadId name;
  /// The Thread while run() lasts; nullptr for thread contexts that are no worker's.
  Thread* worker = nullptr;
  /// The program of this worker has begun: until then only messages run, and no hooks.
  bool working = false;
  /// A message handler runs on the thread now, so that none may start.
  bool in_handler = false;
  /// It had to wait for a connection just now, and has not waited for a result since then.
  bool has_connected = false;
  /// Messages that were sent since the thread took some in by MessageEngine::keep_up.
  std::uint32_t sent_since_look = 0;
  /// The peer whose Transmitter the next progress() polls that finds nothing, or that follows some
  /// that found something.
  std::uint32_t poll_next = 0;
  /// Times that progress() has found something since it polled.
  std::uint32_t busy_since_poll = 0;
  std::vector<ProgressHook> hooks;
  /// For messages that are too large to go inline; made when the first of them is sent.
  std::optional<dtutils::LinearCircularAllocator> send_memory;
  /// For messages to this process; made when the first of them is sent.
  std::optional<LocalPools> local_pools;
  /// Messages for this worker that somebody else took in, or that came inside a message handler.
  Inbox inbox;
  /// Calls that went out from here as messages, by destination, each before it is sent; calls that
  /// came as messages and were run here, by sender, each afterwards.
  detail::PeerCounts calls_sent;
  detail::PeerCounts calls_run;
  /// Of the futures of this thread, made with the first of them; and how many continuations they
  /// have, and had.
  std::unique_ptr<detail::FuturePool> futures;
  detail::FuturePool::Counters continuations;
  /// For thread contexts of outside threads: in use. Acquire and release hand the thread context
  /// over.
  std::atomic<bool> taken{false};

  bool is_worker() const noexcept { return !name.is_service(); }
};

}  // namespace dsfabric
