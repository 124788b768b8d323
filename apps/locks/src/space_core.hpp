// SPDX-License-Identifier: MIT
// What the workers of a process share of a LockSpace: memory, who is cut off, and the freeze.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/selective_signaling.hpp"
#include "dtutils/wait.hpp"
#include "locks/detail/worker.hpp"
#include "srsl_server.hpp"

namespace locks::detail {

class Keeper;

/// What a process says to a home that repairs. Values travel.
enum class FreezeAnswer : std::uint8_t { kNotYet, kReady, kNoSpace };

/// One a process and LockSpace. Made by the first worker that comes, found by the others and by
/// handlers through `enter` and `find`.
class SpaceCore : public std::enable_shared_from_this<SpaceCore> {
 public:
  /// The next space of that worker. Throws Error when the options differ from those of the other
  /// workers of this process. Setup only.
  static std::shared_ptr<SpaceCore> enter(dsfabric::Thread& self, const LockSpaceOptions& options);
  /// The worker uses it no more; the last one ends the keeper. Setup only.
  void leave();
  /// The space with that number, or nullptr when it is gone here. Any thread (takes a lock).
  static std::shared_ptr<SpaceCore> find(dsfabric::Fabric& fabric, std::uint32_t number);

  SpaceCore(dsfabric::Fabric& fabric, std::uint32_t number, const LockSpaceOptions& options);
  SpaceCore(const SpaceCore&) = delete;
  SpaceCore& operator=(const SpaceCore&) = delete;
  ~SpaceCore();

  dsfabric::Fabric& fabric() const noexcept { return fabric_; }
  std::uint32_t number() const noexcept { return number_; }
  const LockSpaceOptions& options() const noexcept { return options_; }
  dsfabric::ProcessId here() const noexcept { return fabric_.process(); }
  /// The clock of leases. Any thread.
  std::chrono::nanoseconds lease_now() const {
    return options_.lease_clock != nullptr ? options_.lease_clock()
                                           : dtutils::Clock::now().time_since_epoch();
  }

  // --- memory -----------------------------------------------------------------------------------
  /// What a worker tells all others.
  struct Hello {
    dtutils::RemoteMemoryLocator words;
    dtutils::RemoteMemoryLocator places;
    std::uint32_t locks;
    std::uint32_t places_each;
    Scheme scheme;
    std::chrono::nanoseconds lease;
  };
  Hello hello_of(std::uint32_t worker) const noexcept;
  /// Takes in the Hellos of all workers, in the order of ranks; the first call counts. Throws Error
  /// when one differs from this process. Starts the keeper.
  void meet(const std::vector<Hello>& all);
  Place* places_of(std::uint32_t worker) const noexcept;
  std::uint32_t places_key() const noexcept { return place_memory_.lkey(); }
  Stepping& stepping_of(std::uint32_t worker) noexcept { return stepping_[worker]; }
  const std::atomic<std::uint32_t>& frozen() const noexcept { return frozen_; }
  /// freeze() uses membarrier(2), so that a step needs no barrier.
  bool expedited() const noexcept { return expedited_; }
  /// The places of the worker with that rank in the job.
  const dtutils::RemoteMemoryLocator& places_of_rank(std::uint32_t rank) const noexcept {
    return places_[rank];
  }
  const dtutils::RemoteMemoryLocator& words_of(dsfabric::ProcessId home) const noexcept {
    return words_by_process_[home.value];
  }
  /// All words of this process that were adopted, and those of the space. The keeper's thread.
  std::vector<std::span<LockWords>> all_words();
  void adopt(std::span<LockWords> words);

  // --- failure ----------------------------------------------------------------------------------
  /// From now on no worker of this process takes a step, until `home` says that it may, or is gone.
  /// `repair` is that of the home, counted from 1; for one that is over, nothing happens.
  /// The processes in `dead` are declared failed here too. kReady when all of them are cut
  /// off here, no worker is in a step, and what was posted has arrived; after kNotYet it is to be
  /// asked again; kNoSpace when the workers of this process have left the space. Does not wait for
  /// other threads. Any thread.
  FreezeAnswer freeze(dsfabric::ProcessId home, std::uint64_t repair,
                      std::span<const std::uint16_t> dead);
  /// Ends what freeze began for that repair, and for those before. Any thread.
  void thaw(dsfabric::ProcessId home, std::uint64_t repair) noexcept;
  /// As the repair of thaw(): nothing that the home still says freezes this process.
  static constexpr std::uint64_t kAllRepairs = UINT64_MAX;
  /// The same for homes that are gone. What one said at last may be lost, when this process was
  /// stopped while it left. Any thread.
  void thaw_from_gone() noexcept;
  /// The homes that freeze() was for, and thaw() was not. Any thread (takes a lock).
  std::vector<dsfabric::ProcessId> frozen_by();
  /// Every process that takes part has cut `process` off, and its steps about locks of that home
  /// are over: retired places can be used again. Any thread, wait-free.
  bool settled(dsfabric::ProcessId process) const noexcept {
    return settled_[process.value].load(std::memory_order_acquire);
  }
  void settle(dsfabric::ProcessId process) noexcept {
    settled_[process.value].store(true, std::memory_order_release);
  }
  /// All connections of this process to the other are broken: nothing of it arrives any more.
  bool cut_off(dsfabric::ProcessId process) const noexcept {
    return cut_off_[process.value].load(std::memory_order_acquire);
  }

  SrslServer& server() noexcept { return server_; }
  Keeper& keeper() noexcept { return *keeper_; }

 private:
  void on_failure(dsfabric::ProcessId process);
  /// Whether the homes of others know of all that this process has given up; after the deadline,
  /// whether they have been told.
  bool told_of_failures(dtutils::Deadline& deadline);
  /// Whether none of the workers, which are frozen, is in a step, and all that they have posted has
  /// arrived, or is of a connection that is broken.
  bool stands_still();

  dsfabric::Fabric& fabric_;
  const std::uint32_t number_;
  const LockSpaceOptions options_;
  const bool expedited_;
  std::uint32_t users_ = 0;
  /// Of failures.
  dsfabric::UpcallId upcall_;

  dtutils::RDMAMemory words_;
  dtutils::RDMAMemory place_memory_;
  std::vector<Stepping> stepping_;
  std::vector<dtutils::RemoteMemoryLocator> words_by_process_;
  std::vector<dtutils::RemoteMemoryLocator> places_;
  std::once_flag met_;

  /// Homes that have frozen this process.
  alignas(64) std::atomic<std::uint32_t> frozen_{0};
  std::mutex mutex_;
  bool left_ = false;
  /// Of one home. Its calls run in any order, since several threads serve them.
  struct Freeze {
    /// The repair that this process is frozen for; 0: for none.
    std::uint64_t by = 0;
    /// The last repair that has said that all may go on.
    std::uint64_t over = 0;
  };
  std::vector<Freeze> freezes_;
  /// What each worker had posted to each process when all of them stood still; empty: nobody has
  /// looked since they were frozen.
  std::vector<dtutils::RetireTag> posted_;
  std::vector<std::span<LockWords>> adopted_;
  std::vector<std::atomic<bool>> cut_off_;
  std::vector<std::atomic<bool>> settled_;
  SrslServer server_;
  std::unique_ptr<Keeper> keeper_;
};

}  // namespace locks::detail
