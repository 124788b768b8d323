// SPDX-License-Identifier: MIT
// Who takes part in the collectives of one group: its workers by rank, and their processes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "dsfabric/ids.hpp"
#include "job/members.hpp"

namespace dsfabric {

/// Workers are known by their rank, 0 to total() - 1; their processes by their index, in the order
/// in which they come first; and the workers of one process by their slot, in the order of ranks.
/// The same at all of them. It never changes. Any thread, wait-free.
class Participants {
 public:
  /// All workers of the job, of an elastic one those of its founders, of whom this process is one:
  /// ranks are those of Fabric::rank_of, indices the numbers of processes.
  explicit Participants(const Members& members);
  /// These workers, by rank. Throws Error when one does not exist or comes twice, or when none is
  /// of this process. Setup only.
  Participants(const Members& members, std::vector<ThreadId> workers);

  bool whole_job() const noexcept { return workers_.empty(); }
  /// Throws Error of `what`, an operation of the whole job, at a newcomer to an elastic one.
  void require_whole_job(std::string_view what) const {
    if (!whole_job()) [[unlikely]]
      throw_not_whole_job(what);
  }
  std::uint32_t total() const noexcept { return total_; }
  std::uint32_t processes() const noexcept { return static_cast<std::uint32_t>(processes_.size()); }
  /// Of this process.
  std::uint32_t self() const noexcept { return self_; }
  ProcessId process(std::uint32_t index) const noexcept { return processes_[index].id; }
  std::uint32_t workers(std::uint32_t index) const noexcept { return processes_[index].workers; }
  /// Those of this process.
  std::uint32_t here() const noexcept { return workers(self_); }
  /// Those of the process that has most.
  std::uint32_t max_workers() const noexcept { return max_workers_; }
  bool has(ProcessId process) const noexcept;
  /// Whether all workers of each of its processes take part.
  bool has_whole_processes() const noexcept;

  ThreadId worker(std::uint32_t rank) const noexcept {
    return whole_job() ? members_.thread_of_rank(rank) : workers_[rank];
  }
  std::uint32_t rank(std::uint32_t index, std::uint32_t slot) const noexcept {
    const std::uint32_t at = processes_[index].first + slot;
    return whole_job() ? at : ranks_[at];
  }
  /// Of worker `number` of this process; here() when it does not take part.
  std::uint32_t slot_of(std::uint32_t number) const noexcept {
    return whole_job() ? number : slots_[number];
  }
  /// The rank of a worker; total() when it does not take part.
  std::uint32_t rank_of(ThreadId worker) const noexcept;
  const Members& members() const noexcept { return members_; }

 private:
  [[noreturn]] void throw_not_whole_job(std::string_view what) const;

  struct Process {
    ProcessId id;
    std::uint32_t workers = 0;
    /// Of its slot 0, in the order of processes and slots.
    std::uint32_t first = 0;
  };

  const Members& members_;
  std::vector<Process> processes_;
  std::uint32_t self_ = 0;
  std::uint32_t total_ = 0;
  std::uint32_t max_workers_ = 0;
  /// Empty for the whole job, where they are known without a table.
  std::vector<ThreadId> workers_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace dsfabric
