// SPDX-License-Identifier: MIT
// Who takes part in the job, and how its workers are numbered; the same at every process.
#pragma once

#include <cstdint>
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

/// It never changes. A process costs twelve bytes here, beside its site. Any thread, wait-free.
class Members {
 public:
  /// `all` by process.
  Members(ProcessId self, std::vector<Member> all, std::uint32_t machines);

  ProcessId self() const noexcept { return self_; }
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(all_.size()); }
  std::uint32_t machines() const noexcept { return machines_; }
  std::uint32_t total_threads() const noexcept { return total_threads_; }
  /// Workers of the process that has most.
  std::uint32_t max_threads() const noexcept { return max_threads_; }
  /// Workers of this process.
  std::uint32_t threads() const noexcept { return threads_; }
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

 private:
  struct Entry {
    std::uint32_t pid;
    /// Rank of its worker 0 among all workers.
    std::uint32_t first_rank;
    std::uint32_t site;
  };
  const Site& site(ProcessId process) const noexcept { return sites_[all_[process.value].site]; }

  ProcessId self_;
  std::vector<Entry> all_;
  std::vector<Site> sites_;
  std::uint32_t machines_;
  std::uint32_t total_threads_ = 0;
  std::uint32_t max_threads_ = 0;
  std::uint32_t threads_ = 0;
};

}  // namespace dsfabric
