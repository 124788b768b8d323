// SPDX-License-Identifier: MIT
// All thread contexts of a process, and which of them is the calling thread's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dsfabric/termination.hpp"
#include "threads/thread_context.hpp"

namespace dsfabric {

/// The contexts are numbered: workers, service threads, the failure detector's thread, the home
/// thread (which joined, and leaves), outside threads. A thread finds its context through
/// thread-local storage; an unknown thread gets one of those for outside threads, and keeps it
/// until it ends.
class ThreadRegistry {
 public:
  /// Setup only.
  ThreadRegistry(ProcessId process, std::uint32_t processes, std::uint32_t workers,
                 std::uint32_t service_threads, std::uint32_t outside_threads);
  ThreadRegistry(const ThreadRegistry&) = delete;
  ThreadRegistry& operator=(const ThreadRegistry&) = delete;
  ~ThreadRegistry();

  ThreadContext& worker(std::uint32_t index) noexcept { return *contexts_->all[index]; }
  ThreadContext& service(std::uint32_t index) noexcept { return *contexts_->all[workers_ + index]; }
  ThreadContext& failure_detector() noexcept {
    return *contexts_->all[workers_ + service_threads_];
  }
  ThreadContext& home() noexcept { return *contexts_->all[workers_ + service_threads_ + 1]; }
  /// Contexts of a process with so many workers, service threads and outside threads.
  static std::uint32_t count(std::uint32_t workers, std::uint32_t service_threads,
                             std::uint32_t outside_threads) noexcept {
    return workers + service_threads + kLibraryContexts + outside_threads;
  }
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(contexts_->all.size()); }
  /// Of all thread contexts together; `processes`: those that are counted, or none for all. Any
  /// thread, wait-free.
  template <class... Processes>
  std::uint64_t sum(detail::PeerCounts ThreadContext::*counts,
                    const Processes&... processes) const noexcept {
    std::uint64_t all = 0;
    for (const auto& context : contexts_->all) all += ((*context).*counts).sum(processes...);
    return all;
  }
  /// Continuations of the futures of workers and service threads: attached, and ended. Any thread,
  /// wait-free.
  CallCount continuations() const noexcept {
    CallCount all;
    for (std::size_t i = 0; i < workers_ + service_threads_; ++i) {
      const detail::FuturePool::Counters& counters = contexts_->all[i]->continuations;
      // Acquire: pairs with count(). What has ended is read first, so it never seems more.
      all.executed += counters.ended.load(std::memory_order_acquire);
      all.issued += counters.attached.load(std::memory_order_acquire);
    }
    return all;
  }
  /// One more, by the owner of the thread context. Release: who sees it, sees what was counted
  /// before.
  static void count(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// The context of the calling thread. The first call of an unknown thread takes one of those for
  /// outside threads: Error when none is free. Any thread.
  ThreadContext& mine() {
    const Current& current = current_context();
    return current.fabric == id_ ? *current.context : find_or_take();
  }
  /// The same, or nullptr for an unknown thread.
  ThreadContext* known() noexcept {
    const Current& current = current_context();
    return current.fabric == id_ ? current.context : find();
  }
  /// Whether a message handler of whichever fabric runs on the calling thread. Any thread.
  static bool in_handler() noexcept;
  /// Makes `context` the calling thread's; nullptr undoes it. Owner thread only.
  void bind(ThreadContext* context);

 private:
  /// Those of the failure detector's thread and of the home thread.
  static constexpr std::uint32_t kLibraryContexts = 2;
  struct Table {
    std::vector<std::unique_ptr<ThreadContext>> all;
  };
  /// The fabric that the thread used last; numbers are never used again, so that a later fabric at
  /// the same address is another one.
  struct Current {
    std::uint64_t fabric = 0;
    ThreadContext* context = nullptr;
  };
  struct Memory;

  static Current& current_context() noexcept {
    thread_local constinit Current current;
    return current;
  }
  static Memory& memory();
  ThreadContext* find() noexcept;
  ThreadContext& find_or_take();

  const std::uint64_t id_;
  const std::uint32_t workers_;
  const std::uint32_t service_threads_;
  /// Shared with the threads that hold a context and may end later than the fabric.
  std::shared_ptr<Table> contexts_;
};

}  // namespace dsfabric
