// SPDX-License-Identifier: MIT
// The device's one thread: it sleeps, and wakes for deaths, broken pairs, retries and the
// adversary.
#pragma once

#include <atomic>
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
  void forget_peers() noexcept { ring_own(own_.doorbell().name(), 0); }
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

  /// A queue pair has deferred work that nobody but the agent will look at. Any thread.
  void has_work() noexcept;
  /// Writes to a pipe of this process. Any thread.
  void ring_own(const PipeName& pipe, std::uint32_t message) noexcept;
  std::uint32_t index_of(const CompletionQueueEntry& cq) const noexcept {
    return static_cast<std::uint32_t>(&cq - own_.shared().completion_queues);
  }

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
  void visit_all();
  void visit(QueuePair& qp);
  void bury(QueuePair& qp);
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

  std::atomic<bool> stop_{false};
  std::atomic<bool> asleep_{false};
  std::atomic<std::uint64_t> work_{0};
  std::uint64_t work_seen_ = 0;
  bool something_waits_ = false;
  std::uint32_t idle_rounds_ = 0;
  /// Somebody rang since the last visit, so regions of peers may have ended.
  bool rung_ = false;
  /// Released in a forked child, where there is no thread that could be joined.
  std::unique_ptr<std::thread> thread_;
};

}  // namespace dtutils::shm
