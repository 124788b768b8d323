// SPDX-License-Identifier: MIT
// The agent thread's loop: when it sleeps, for how long, and what it looks at when it wakes.
#include "shm/agent.hpp"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include "dtutils/error.hpp"
#include "shm/chaos.hpp"
#include "shm/send_lock.hpp"

namespace dtutils::shm {
namespace {

/// Pause between two tries of a request that waits for its receiver, growing to the second value.
constexpr long kRetryNanoseconds = 20'000;
constexpr long kSlowRetryNanoseconds = 500'000;
constexpr std::uint32_t kQuickRetries = 64;

}  // namespace

Agent::Agent(OwnSegment& own, std::optional<Adversary> adversary)
    : own_(own), adversary_(adversary), random_(adversary ? adversary->seed : 0) {
  // The thread takes no signals: they belong to the program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int code = 0;
  try {
    thread_ = std::make_unique<std::thread>([this] { run(); });
  } catch (const std::system_error& error) {
    code = error.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (code != 0) {
    throw Error("shm", "the device's thread cannot be started", "raise `ulimit -u`", code);
  }
}

Agent::~Agent() {
  if (thread_ == nullptr) return;
  stop_.store(true);
  ring_own(own_.doorbell().name(), 0);
  thread_->join();
}

void Agent::add(QueuePair& qp) {
  const std::scoped_lock lock(mutex_);
  queue_pairs_.push_back(&qp);
}

void Agent::remove(QueuePair& qp) {
  const std::scoped_lock lock(mutex_);
  std::erase(queue_pairs_, &qp);
}

std::shared_ptr<Peer> Agent::peer(const Address& address) {
  const std::scoped_lock lock(mutex_);
  for (const auto& known : peers_) {
    if (known->address() == address && !known->dead()) return known;
  }
  auto made = std::make_shared<Peer>(address, own_);
  peers_.push_back(made);
  ring_own(own_.doorbell().name(), 0);
  return made;
}

void Agent::has_work() noexcept {
  // seq_cst, both: either the agent sees the work, or we see that it is asleep.
  work_.fetch_add(1);
  if (asleep_.load()) ring_own(own_.doorbell().name(), 0);
}

void Agent::ring_own(const PipeName& pipe, std::uint32_t message) noexcept {
  if (pipe.fd < 0) return;
  // A full pipe has a reader that is about to look anyway.
  [[maybe_unused]] const ssize_t written = write(pipe.fd, &message, sizeof message);
}

void Agent::abandon_in_child() noexcept {
  for (QueuePair* qp : queue_pairs_) qp->send_state.store(SendState::kForked);
  // Not joined, not detached: the thread that it names exists in the parent only.
  [[maybe_unused]] const std::thread* left_behind = thread_.release();
}

void Agent::ring_all() noexcept {
  const std::scoped_lock lock(mutex_);
  for (const auto& peer : peers_) peer->ring(peer->shared().header.doorbell, 0);
  ring_own(own_.doorbell().name(), 0);
}

void Agent::run() {
  while (!stop_.load()) {
    sleep();
    visit_all();
  }
}

void Agent::sleep() {
  std::vector<pollfd> watched{{own_.doorbell().read_fd(), POLLIN, 0}};
  std::vector<std::shared_ptr<Peer>> peers;
  {
    const std::scoped_lock lock(mutex_);
    // A peer that no queue pair uses any more is forgotten.
    std::erase_if(peers_, [](const auto& peer) { return peer.use_count() == 1; });
    for (const auto& peer : peers_) {
      if (peer->is_self() || peer->dead()) continue;
      peers.push_back(peer);
      watched.push_back({peer->process_fd(), POLLIN, 0});
      watched.push_back({peer->life_fd(), 0, 0});
    }
  }
  timespec pause{0, idle_rounds_ < kQuickRetries ? kRetryNanoseconds : kSlowRetryNanoseconds};
  if (adversary_) {
    pause.tv_nsec = static_cast<long>(random_() % (adversary_->max_delay_us + 1)) * 1000;
  }
  asleep_.store(true);
  const bool busy = something_waits_ || work_.load() != work_seen_;
  const int ready = ppoll(watched.data(), watched.size(), busy ? &pause : nullptr, nullptr);
  asleep_.store(false);
  work_seen_ = work_.load();
  if (ready <= 0) return;
  if (watched[0].revents != 0) answer();
  for (std::size_t i = 1; i < watched.size(); ++i) {
    if (watched[i].revents != 0) peers[(i - 1) / 2]->mark_dead();
  }
}

void Agent::answer() {
  char drained[256];
  while (read(own_.doorbell().read_fd(), drained, sizeof drained) > 0) {
  }
  rung_ = true;
}

void Agent::visit_all() {
  const std::scoped_lock lock(mutex_);
  idle_rounds_ = something_waits_ ? idle_rounds_ + 1 : 0;
  something_waits_ = false;
  const bool sweeps = std::exchange(rung_, false);
  if (sweeps) {
    for (const auto& peer : peers_) peer->regions().set_dead_aside();
  }
  std::vector<QueuePair*> order = queue_pairs_;
  if (adversary_) std::shuffle(order.begin(), order.end(), random_);
  for (QueuePair* qp : order) visit(*qp);
  if (sweeps) {
    for (const auto& peer : peers_) peer->regions().release_dead();
  }
}

void Agent::visit(QueuePair& qp) {
  const SendLock lock(qp.entry->send_lock);
  qp.forget_dead_regions();
  if (qp.peer != nullptr && qp.peer->dead()) bury(qp);
  const bool error = qp.entry->state.load(std::memory_order_acquire) == IBV_QPS_ERR;
  if (error && qp.send_state.load() != SendState::kBroken) break_pair(qp, IBV_WC_WR_FLUSH_ERR);
  if (qp.chaos != nullptr) {
    something_waits_ |= disturb(qp);
  } else {
    run_deferred(qp);
    something_waits_ |= !qp.deferred.empty();
  }
}

void Agent::bury(QueuePair& qp) {
  recover_from_death(qp);
  if (qp.send_state.load() == SendState::kBroken) return;
  qp.vendor_error = kPeerDied;
  break_pair(qp, IBV_WC_RETRY_EXC_ERR);
}

bool Agent::disturb(QueuePair& qp) {
  Chaos& chaos = *qp.chaos;
  for (auto steps = chaos.random() % 8; steps != 0 && !qp.deferred.empty(); --steps) {
    // Once a request, however often it has to be tried.
    if (qp.send_state.load() == SendState::kReady &&
        qp.deferred.front_position() >= chaos.counted) {
      chaos.counted = qp.deferred.front_position() + 1;
      strike(qp);
    }
    run_deferred(qp);
  }
  release_held(qp);
  return !qp.deferred.empty() || !chaos.held.empty();
}

void Agent::strike(QueuePair& qp) {
  ++executed_;
  if (adversary_->kill_after != 0 && executed_ == adversary_->kill_after) qp.peer->kill_process();
  if (adversary_->break_after != 0 && executed_ == adversary_->break_after) {
    qp.vendor_error = kInjected;
    break_pair(qp, IBV_WC_RETRY_EXC_ERR);
  }
}

void Agent::release_held(QueuePair& qp) {
  Chaos& chaos = *qp.chaos;
  while (!chaos.held.empty() && !chaos.once_in(4)) {
    const Completion completion = chaos.held.front();
    chaos.held.pop_front();
    deliver(qp, completion);
  }
}

}  // namespace dtutils::shm
