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
#include "shm/late_answers.hpp"
#include "shm/send_lock.hpp"
#include "shm/service_thread.hpp"

namespace dtutils::shm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// A request that waits for its receiver is tried again after an eighth of the time that it has
// waited, within these bounds.
constexpr nanoseconds kShortestRetry = std::chrono::microseconds(20);
constexpr nanoseconds kLongestRetry = std::chrono::milliseconds(2);
/// How often the agent looks whether a stopped peer goes on.
constexpr nanoseconds kLooksAtStopped = std::chrono::milliseconds(100);

}  // namespace

Agent::Agent(OwnSegment& own, std::optional<Adversary> adversary)
    : own_(own), adversary_(adversary), random_(adversary ? adversary->seed : 0) {
  thread_ = start_service_thread([this] { run(); });
}

Agent::~Agent() {
  if (thread_ == nullptr) return;
  stop_.store(true);
  notify_self(own_.doorbell().name(), 0);
  thread_->join();
}

void Agent::add(QueuePair& qp) {
  const std::scoped_lock lock(mutex_);
  queue_pairs_.push_back(&qp);
}

void Agent::remove(QueuePair& qp) {
  const std::scoped_lock lock(mutex_);
  std::erase(queue_pairs_, &qp);
  admit();
  std::erase(waiting_, &qp);
}

std::shared_ptr<Peer> Agent::peer(const Address& address) {
  const auto find = [&] {
    const auto known = std::find_if(peers_.begin(), peers_.end(), [&](const auto& each) {
      return each->address() == address && !each->dead();
    });
    return known == peers_.end() ? nullptr : *known;
  };
  {
    const std::scoped_lock lock(mutex_);
    if (auto known = find()) return known;
  }
  // Without the lock, since it waits for the peer.
  auto made = std::make_shared<Peer>(address, own_);
  const std::scoped_lock lock(mutex_);
  if (auto known = find()) return known;
  peers_.push_back(made);
  notify_self(own_.doorbell().name(), 0);
  return made;
}

void Agent::has_work(QueuePair& qp) noexcept {
  if (qp.announced.exchange(true)) return;
  QueuePair* first = announced_.load(std::memory_order_relaxed);
  do {
    qp.next_announced = first;
    // seq_cst: either the agent sees the work, or we see that it is asleep.
  } while (!announced_.compare_exchange_weak(first, &qp));
  if (asleep_.load()) notify_self(own_.doorbell().name(), 0);
}

void Agent::keep(std::shared_ptr<void> object, const Operation& until) noexcept {
  const std::scoped_lock lock(mutex_);
  kept_.push_back({until, std::move(object)});
  notify_self(own_.doorbell().name(), 0);
}

void Agent::keep_from_stopped(const std::shared_ptr<void>& object) noexcept {
  const std::scoped_lock lock(mutex_);
  const std::size_t count = kept_.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (kept_[i].until.runs()) kept_.push_back({kept_[i].until, object});
  }
}

bool Agent::is_known_to_stand_still(const Operation& operation) noexcept {
  const std::scoped_lock lock(mutex_);
  return std::any_of(kept_.begin(), kept_.end(), [&](const Kept& each) {
    return each.until.lock == operation.lock && each.until.seen == operation.seen;
  });
}

void Agent::give_up(const Operation& operation) noexcept {
  const std::scoped_lock lock(mutex_);
  for (QueuePair* qp : queue_pairs_) {
    if (qp->remote == nullptr || &qp->remote->send_lock != operation.lock) continue;
    const SendLock sending(qp->entry->send_lock);
    if (qp->send_state.load() == SendState::kBroken) continue;
    qp->vendor_error = kPeerStopped;
    break_pair(*qp, IBV_WC_RETRY_EXC_ERR);
  }
}

void Agent::release_kept() {
  std::erase_if(kept_, [](const Kept& each) { return !each.until.runs(); });
}

void Agent::notify_self(const PipeName& pipe, std::uint32_t message) noexcept {
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
  for (const auto& peer : peers_) peer->ring_agent();
  notify_self(own_.doorbell().name(), 0);
}

void Agent::run() {
  while (!stop_.load()) {
    sleep();
    const std::scoped_lock lock(mutex_);
    admit();
    if (std::exchange(notified_, false)) visit_all();
    visit_waiting();
    release_kept();
  }
}

void Agent::sleep() {
  std::vector<pollfd> watched{{own_.doorbell().read_fd(), POLLIN, 0}};
  std::vector<std::shared_ptr<Peer>> peers;
  nanoseconds longest;
  {
    const std::scoped_lock lock(mutex_);
    // A peer that no queue pair uses any more is forgotten.
    std::erase_if(peers_, [](const auto& peer) { return peer.use_count() == 1; });
    for (const auto& peer : peers_) {
      if (peer->is_self() || peer->reaped) continue;
      peers.push_back(peer);
      watched.push_back({peer->process_fd(), POLLIN, 0});
      watched.push_back({peer->life_fd(), 0, 0});
    }
    longest = pause();
  }
  asleep_.store(true);
  // After that store: whoever announces work from here on rings.
  if (announced_.load() != nullptr) longest = nanoseconds(0);
  const timespec timeout{0, longest.count()};
  const int ready =
      ppoll(watched.data(), watched.size(), longest.count() < 0 ? nullptr : &timeout, nullptr);
  asleep_.store(false);
  if (ready <= 0) return;
  if (watched[0].revents != 0) answer();
  for (std::size_t i = 1; i < watched.size(); ++i) {
    if (watched[i].revents == 0) continue;
    peers[(i - 1) / 2]->mark_dead();
    notified_ = true;
  }
}

void Agent::answer() {
  char drained[256];
  while (read(own_.doorbell().read_fd(), drained, sizeof drained) > 0) {
  }
  notified_ = true;
}

nanoseconds Agent::pause() {
  if (waiting_.empty()) return kept_.empty() ? nanoseconds(-1) : kLooksAtStopped;
  if (adversary_) {
    return std::chrono::microseconds(random_() % (adversary_->max_delay_us + 1));
  }
  return std::clamp<nanoseconds>((Clock::now() - waits_since_) / 8, kShortestRetry, kLongestRetry);
}

void Agent::admit() {
  QueuePair* each = announced_.exchange(nullptr, std::memory_order_acquire);
  if (each != nullptr) waits_since_ = Clock::now();
  while (each != nullptr) {
    waiting_.push_back(each);
    each = each->next_announced;
  }
}

void Agent::visit_all() {
  for (const auto& peer : peers_) {
    peer->reaped = peer->dead();
    peer->regions().set_dead_aside(!is_used(*peer));
  }
  for (QueuePair* qp : queue_pairs_) {
    // Also work that the visit itself has made.
    if (visit(*qp) && !qp->announced.exchange(true)) waiting_.push_back(qp);
  }
  for (const auto& peer : peers_) peer->regions().release_dead();
}

void Agent::visit_waiting() {
  if (adversary_) std::shuffle(waiting_.begin(), waiting_.end(), random_);
  std::erase_if(waiting_, [this](QueuePair* qp) {
    const SendLock lock(qp->entry->send_lock);
    const bool waits = advance(*qp);
    // Under the lock, as has_work.
    if (!waits) qp->announced.store(false);
    return !waits;
  });
}

bool Agent::is_used(const Peer& peer) const {
  if (peer.dead()) return false;
  return std::any_of(queue_pairs_.begin(), queue_pairs_.end(), [&](const QueuePair* qp) {
    return qp->peer.get() == &peer && qp->send_state.load() != SendState::kBroken &&
           qp->remote->qp_num.load(std::memory_order_relaxed) == qp->remote_number;
  });
}

bool Agent::visit(QueuePair& qp) {
  const SendLock lock(qp.entry->send_lock);
  qp.forget_dead_regions();
  if (qp.peer != nullptr && qp.peer->dead()) fail_orphan(qp);
  const bool error = qp.entry->state.load(std::memory_order_acquire) == IBV_QPS_ERR;
  if (error && qp.send_state.load() != SendState::kBroken) break_pair(qp, IBV_WC_WR_FLUSH_ERR);
  return advance(qp);
}

bool Agent::advance(QueuePair& qp) {
  if (qp.chaos != nullptr) return disturb(qp);
  run_deferred(qp);
  return !qp.deferred.empty();
}

void Agent::fail_orphan(QueuePair& qp) {
  recover_from_death(qp);
  if (qp.send_state.load() != SendState::kBroken) {
    qp.vendor_error = kPeerDied;
    break_pair(qp, IBV_WC_RETRY_EXC_ERR);
  }
  forget_peer(qp);
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
  if (chaos.once_in(3)) land_one(qp);
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
  while (!chaos.held.empty() && chaos.held.front().landed && !chaos.once_in(4)) {
    const HeldCompletion first = chaos.held.front();
    chaos.held.pop_front();
    if (first.wanted) deliver(qp, first.completion);
  }
}

}  // namespace dtutils::shm
