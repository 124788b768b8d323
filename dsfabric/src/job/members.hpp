// SPDX-License-Identifier: MIT
// Who takes part in the job, and how its workers are numbered; the same at every process.
#pragma once

#include <cstdint>
#include <vector>

#include "dsfabric/ids.hpp"
#include "dsfabric/process_info.hpp"

namespace dsfabric {

struct Member {
  ProcessInfo info;
  /// One a worker.
  std::vector<dtutils::NumaZone> worker_zones;
  /// Rank of its worker 0 among all workers.
  std::uint32_t first_rank = 0;
};

/// It never changes. Any thread, wait-free.
class Members {
 public:
  /// `all` by process, without first_rank, which this fills in.
  Members(ProcessId self, std::vector<Member> all, std::uint32_t machines) noexcept;

  ProcessId self() const noexcept { return self_; }
  std::uint32_t count() const noexcept { return count_; }
  std::uint32_t machines() const noexcept { return machines_; }
  std::uint32_t total_threads() const noexcept { return total_threads_; }
  /// Workers of the process that has most.
  std::uint32_t max_threads() const noexcept { return max_threads_; }
  /// Workers of this process.
  std::uint32_t threads() const noexcept { return threads_; }

  const Member& operator[](ProcessId process) const noexcept { return all_[process.value]; }
  const std::vector<Member>& all() const noexcept { return all_; }
  bool exists(ThreadId thread) const noexcept {
    return thread.process.value < count() && thread.index < all_[thread.process.value].info.threads;
  }
  std::uint32_t rank_of(ThreadId thread) const noexcept {
    return all_[thread.process.value].first_rank + thread.index;
  }
  ThreadId thread_of_rank(std::uint32_t rank) const noexcept;

 private:
  ProcessId self_;
  std::vector<Member> all_;
  std::uint32_t count_;
  std::uint32_t machines_;
  std::uint32_t total_threads_ = 0;
  std::uint32_t max_threads_ = 0;
  std::uint32_t threads_ = 0;
};

}  // namespace dsfabric
