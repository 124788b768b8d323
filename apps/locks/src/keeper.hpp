// SPDX-License-Identifier: MIT
// The thread that repairs the locks of this home after a death.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "dtutils/joinable_thread.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/wake_fd.hpp"
#include "locks/detail/place.hpp"
#include "locks/lock_id.hpp"
#include "report.hpp"

namespace locks::detail {

class SpaceCore;

/// Sleeps until a process has failed, or a lease may be over. Then it makes a repair, in rounds:
///
///  1. All processes that take part freeze: each cuts off those that have failed, ends its steps,
///     and waits until what it has posted has arrived. Who fails meanwhile joins those that have
///     failed, and the round begins again.
///  2. The places of all workers are read. Nobody but this thread changes the words of this home
///     and the mailboxes of their requests now.
///  3. The queue of each lock is built anew from what the living say (queue_repair.hpp,
///     counter_repair.hpp), and written into words and mailboxes.
///  4. All go on.
class Keeper {
 public:
  explicit Keeper(SpaceCore& core);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper();

  /// Setup only, both.
  void start();
  void stop();
  /// A process has failed. Any thread, does not wait.
  void wake() noexcept;
  /// The lock at that address stands still, says somebody who waits for it. Any thread, does not
  /// wait.
  void suspect(std::uint64_t lock);
  /// Whether no repair goes on, or is about to. Any thread (takes a lock).
  bool idle();
  /// That process has left the space, and is not to be frozen any longer. False: its places are
  /// read or written now, or it will be told to go on. Any thread (takes a lock).
  bool let_go(dsfabric::ProcessId process);
  /// Whether all have been told of the failures that this process knows of, though some may not
  /// have answered. Any thread (takes a lock).
  bool has_told();
  /// Any thread, wait-free.
  std::uint64_t repairs() const noexcept { return repairs_.load(std::memory_order_relaxed); }

 private:
  struct Suspicion {
    std::uint64_t word;
    std::chrono::nanoseconds since;
  };

  bool stopped() const noexcept { return stop_.load(std::memory_order_acquire); }
  void run();
  /// Whether a repair is wanted. `limited`: as repair().
  bool take_wish(bool& limited);
  /// `limited`: who does not answer within the lease is declared failed.
  void repair(bool limited);
  bool freeze_all(bool limited);
  /// Asks all of them at once, so that each hears of the failures although another one does not
  /// answer; leaves those that are not ready. False: the round begins again.
  bool ask(std::vector<std::uint16_t>& left, bool limited);
  bool read_all();
  void rebuild_all();
  void write_all();
  void thaw_all();
  void begin_round();
  void end_freezing();
  /// At the end: until no home has frozen this process. Those that wait for others let it go; those
  /// that do not answer within Config::leave_timeout are declared failed.
  void await_thaw();
  std::vector<std::uint16_t> failed() const;
  bool takes_part(std::uint16_t process) const;

  SpaceCore& core_;
  std::mutex mutex_;
  dtutils::WakeFd changed_;
  /// Repairs that were asked for.
  std::uint64_t wanted_ = 0;
  /// Failures so far: all, those that a round has begun with, and those that all were told of.
  std::uint64_t failures_ = 0;
  std::uint64_t round_ = 0;
  std::uint64_t told_ = 0;
  /// A round has begun, and nothing was read; who has asked to be let go since.
  bool freezing_ = false;
  std::vector<bool> let_go_;
  bool repairs_now_ = false;
  bool lease_over_ = false;
  std::map<std::uint64_t, Suspicion> suspicions_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> repairs_{0};

  // The thread's own.
  /// The number of the repair.
  std::uint64_t repair_ = 0;
  std::vector<std::uint16_t> dead_;
  /// Processes that have the space still.
  std::vector<bool> present_;
  /// Room for the places of one worker.
  dtutils::RDMAMemory buffer_;
  /// All places of the job, by rank: as they were read, and as they become.
  std::vector<Place> before_;
  std::vector<Place> all_;
  dtutils::JoinableThread thread_;
};

}  // namespace locks::detail
