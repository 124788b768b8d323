// SPDX-License-Identifier: MIT
// All lanes of a process, and which of them is the calling thread's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lane.hpp"

namespace dsfabric {

/// Lanes are numbered: workers, service threads, the watch thread, the home thread (which joined,
/// and leaves), outside threads. A thread's lane
/// is found through thread-local storage; one that is unknown gets an outside lane, which it keeps
/// until it ends.
class Lanes {
 public:
  /// Setup only.
  Lanes(ProcessId process, std::uint32_t workers, std::uint32_t service_threads,
        std::uint32_t outside_threads);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  ~Lanes();

  Lane& worker(std::uint32_t index) noexcept { return *lanes_->all[index]; }
  Lane& service(std::uint32_t index) noexcept { return *lanes_->all[workers_ + index]; }
  Lane& watch() noexcept { return *lanes_->all[workers_ + service_threads_]; }
  Lane& home() noexcept { return *lanes_->all[workers_ + service_threads_ + 1]; }
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(lanes_->all.size()); }
  /// Of all lanes together. Any thread, wait-free.
  std::uint64_t sum(std::atomic<std::uint64_t> Lane::*counter) const noexcept {
    std::uint64_t all = 0;
    for (const auto& lane : lanes_->all) {
      // Acquire: pairs with count().
      all += ((*lane).*counter).load(std::memory_order_acquire);
    }
    return all;
  }
  /// One more, by the owner of the lane. Release: who sees it, sees what was counted before.
  static void count(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// The calling thread's lane. The first call of an unknown thread takes an outside lane: Error
  /// when none is free. Any thread.
  Lane& mine() {
    const Current& current = current_lane();
    return current.fabric == id_ ? *current.lane : find_or_take();
  }
  /// The same, or nullptr for an unknown thread.
  Lane* known() noexcept {
    const Current& current = current_lane();
    return current.fabric == id_ ? current.lane : find();
  }
  /// Makes `lane` the calling thread's; nullptr undoes it. Owner thread only.
  void adopt(Lane* lane);

 private:
  struct Table {
    std::vector<std::unique_ptr<Lane>> all;
  };
  /// The fabric that the thread used last; numbers are never used again, so that a later fabric at
  /// the same address is another one.
  struct Current {
    std::uint64_t fabric = 0;
    Lane* lane = nullptr;
  };
  struct Memory;

  static Current& current_lane() noexcept {
    thread_local constinit Current current;
    return current;
  }
  static Memory& memory();
  Lane* find() noexcept;
  Lane& find_or_take();

  const std::uint64_t id_;
  const std::uint32_t workers_;
  const std::uint32_t service_threads_;
  /// Shared with the threads that hold an outside lane and may end later than the fabric.
  std::shared_ptr<Table> lanes_;
};

}  // namespace dsfabric
