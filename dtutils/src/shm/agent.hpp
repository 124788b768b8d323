// SPDX-License-Identifier: MIT
// The device's one thread: it sleeps, and wakes for deaths, broken pairs, retries and the
// adversary.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "dtutils/adversary.hpp"
#include "shm/queue_pair.hpp"

namespace dtutils::shm {

/// No data passes through this thread in the default mode, except requests that had to wait (the
/// receiver was not ready or not connected yet). In the adversarial mode it executes everything.
class Agent {
 public:
  Agent(OwnSegment& own, std::optional<Adversary> adversary);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent();

  const std::optional<Adversary>& adversary() const noexcept { return adversary_; }
  OwnSegment& own() const noexcept { return own_; }

  // Setup only, any thread.
  void add(QueuePair& qp);
  void remove(QueuePair& qp);
  /// The peer at `address`, shared by all queue pairs connected to it.
  std::shared_ptr<Peer> peer(const Address& address);
  /// Lets go of peers that no queue pair is connected to any more.
  void forget_peers() noexcept { notify_self(own_.doorbell().name(), 0); }
  /// Lets the agents of all peers, and our own, look at regions and queue pairs.
  void ring_all() noexcept;
  /// Calls `visit(qp)` for every queue pair of the device.
  template <class Visit>
  void for_each(Visit visit) {
    const std::scoped_lock lock(mutex_);
    for (QueuePair* qp : queue_pairs_) visit(*qp);
  }
  /// Calls `change` while nobody else looks at any queue pair's peer.
  template <class Change>
  void exclusively(Change change) {
    const std::scoped_lock lock(mutex_);
    change();
  }

  /// The queue pair has deferred work that nobody but the agent will look at. Any thread.
  void has_work(QueuePair& qp) noexcept;
  /// Writes to a pipe of this process. Any thread.
  void notify_self(const PipeName& pipe, std::uint32_t message) noexcept;

  // Of stopped peers, see operation.hpp. Any thread.
  /// Keeps `object` from its end until the operation has ended.
  void keep(std::shared_ptr<void> object, const Operation& until) noexcept;
  /// The same with all operations for which something is kept; nothing happens if there is none.
  void keep_from_stopped(const std::shared_ptr<void>& object) noexcept;
  /// Somebody waited for it before, in vain.
  bool is_known_to_stand_still(const Operation& operation) noexcept;
  /// Breaks the queue pair that it uses.
  void give_up(const Operation& operation) noexcept;

  // Around fork(2), see device.cpp: the child must find the list of queue pairs whole.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }
  /// In a forked child, before unlocking: forget the thread and lock every queue pair out.
  void abandon_in_child() noexcept;

 private:
  void run();
  void sleep();
  /// Empties the doorbell.
  void answer();
  /// Takes over who has announced work since.
  void admit();
  void visit_all();
  void visit_waiting();
  /// Looks at all that may have changed around the queue pair; true when it has work left.
  bool visit(QueuePair& qp);
  /// Goes on with its deferred work; true when some is left. Under its send lock.
  bool advance(QueuePair& qp);
  /// False when no queue pair can reach the peer any more.
  bool is_used(const Peer& peer) const;
  void release_kept();
  /// How long to sleep at most; negative: until something happens.
  std::chrono::nanoseconds pause();
  void fail_orphan(QueuePair& qp);
  /// One step of the adversarial engine on one queue pair; true when something is left to do.
  bool disturb(QueuePair& qp);
  void strike(QueuePair& qp);
  void release_held(QueuePair& qp);

  OwnSegment& own_;
  const std::optional<Adversary> adversary_;
  std::mt19937_64 random_;
  std::uint64_t executed_ = 0;

  /// Guards the two lists, and `peer` and `remote` of every queue pair. Taken before send locks.
  std::mutex mutex_;
  std::vector<QueuePair*> queue_pairs_;
  std::vector<std::shared_ptr<Peer>> peers_;
  /// Those with deferred work. A queue pair is in here or among the announced, or in neither.
  std::vector<QueuePair*> waiting_;
  struct Kept {
    Operation until;
    std::shared_ptr<void> object;
  };
  std::vector<Kept> kept_;

  std::atomic<bool> stop_{false};
  std::atomic<bool> asleep_{false};
  /// A stack of queue pairs that have announced work.
  std::atomic<QueuePair*> announced_{nullptr};
  /// When something began to wait that waits still.
  std::chrono::steady_clock::time_point waits_since_{};
  /// Somebody rang or died since the last visit, so anything may have changed.
  bool notified_ = false;
  /// Released in a forked child, where there is no thread that could be joined.
  std::unique_ptr<std::thread> thread_;
};

}  // namespace dtutils::shm
