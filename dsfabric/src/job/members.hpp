// SPDX-License-Identifier: MIT
// Who takes part in the job, and how its workers are numbered; the same at every process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dsfabric/ids.hpp"
#include "dsfabric/process_info.hpp"

namespace dsfabric {

/// What processes on one machine that were placed alike have in common.
struct Site {
  MachineId machine;
  std::string host;
  std::uint32_t service_threads = 0;
  /// One a worker.
  std::vector<dtutils::NumaZone> worker_zones;
  /// All that memory is taken from; the default one first.
  std::vector<dtutils::NumaZone> zones;

  friend bool operator==(const Site&, const Site&) = default;
};

/// What a process has told of itself.
struct Member {
  std::uint32_t pid = 0;
  Site site;
};

/// The founders, and what is counted of them, never change; in an elastic job newcomers are added.
/// A process costs twelve bytes here, beside its site. Any thread, wait-free, where nothing else is
/// said.
class Members {
 public:
  /// `founders` by process; `self` may come later. Setup only.
  Members(ProcessId self, std::vector<Member> founders, std::uint32_t machines,
          std::uint32_t capacity);

  /// A process that has not been there. Numbers below it whose processes have not come, or never
  /// will, count from then on, without workers. One thread at a time; setup only.
  void add(ProcessId process, Member newcomer);

  ProcessId self() const noexcept { return self_; }
  /// Numbers that were given so far. Acquire: pairs with add().
  std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  std::uint32_t founders() const noexcept { return founders_; }
  bool is_founder(ProcessId process) const noexcept { return process.value < founders_; }
  /// The most that count() may become.
  std::uint32_t capacity() const noexcept { return capacity_; }
  std::uint32_t machines() const noexcept { return machines_.load(std::memory_order_relaxed); }
  /// Of the founders.
  std::uint32_t total_threads() const noexcept { return total_threads_; }
  /// Workers of the founder that has most.
  std::uint32_t max_threads() const noexcept { return max_threads_; }
  /// Workers of this process.
  std::uint32_t threads() const noexcept { return threads(self_); }

  /// Workers of a process.
  std::uint32_t threads(ProcessId process) const noexcept {
    return static_cast<std::uint32_t>(site(process).worker_zones.size());
  }
  ProcessInfo info(ProcessId process) const noexcept;
  dtutils::NumaZone zone_of(ThreadId thread) const noexcept {
    return site(thread.process).worker_zones[thread.index];
  }

  bool exists(ThreadId thread) const noexcept {
    return thread.process.value < count() && thread.index < threads(thread.process);
  }
  std::uint32_t rank_of(ThreadId thread) const noexcept {
    return all_[thread.process.value].first_rank + thread.index;
  }
  ThreadId thread_of_rank(std::uint32_t rank) const noexcept;
  /// Ranks that workers may have: newcomers have places behind total_threads(), max_threads() each.
  std::uint32_t rank_capacity() const noexcept {
    return total_threads_ + (capacity_ - founders_) * max_threads_;
  }

 private:
  struct Entry {
    std::atomic<std::uint32_t> pid{0};
    /// Rank of its worker 0 among all workers.
    std::uint32_t first_rank = 0;
    std::atomic<std::uint32_t> site{0};
  };
  // Acquire: pairs with put().
  const Site& site(ProcessId process) const noexcept {
    return first_site_[all_[process.value].site.load(std::memory_order_acquire)];
  }

  void put(ProcessId process, Member member);

  const ProcessId self_;
  const std::uint32_t founders_;
  const std::uint32_t capacity_;
  /// Room for all; the first `count_` are there.
  std::unique_ptr<Entry[]> all_;
  std::atomic<std::uint32_t> count_{0};
  /// Room for those of newcomers, too: they do not move.
  std::vector<Site> sites_;
  /// Where they are: readers do not look at the vector, which grows.
  const Site* first_site_ = nullptr;
  std::atomic<std::uint32_t> machines_;
  std::uint32_t total_threads_ = 0;
  std::uint32_t max_threads_ = 0;
};

}  // namespace dsfabric
