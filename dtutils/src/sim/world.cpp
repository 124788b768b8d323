// SPDX-License-Identifier: MIT
// World: waiting, waking, and the choice of who is next.
#include "sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/queue_pair.hpp"

namespace dtutils::sim {
namespace {

/// A waiter that nobody wakes looks again after one part in this many of the time that it has
/// waited: what another thread stores into memory is found that late at most.
constexpr sim::Time kIdleShare = 16;
/// So many polls in vain without a pause make one.
constexpr unsigned kEmptyPolls = 8;
/// The longest interruption is 1 ns shifted by this; all scales are as likely.
constexpr unsigned kInterruptScales = 14;
/// The clock begins at this time, since programs take the clock's zero for "never".
constexpr std::chrono::hours kEpoch{1};

}  // namespace

World::World(const SimulationOptions& its_options, Simulation& its_face)
    : options(its_options),
      face(its_face),
      random(its_options.seed),
      impersonates_(kImpersonates && !its_options.visible_threads) {
  if (!options.trace.empty()) trace_ = std::make_unique<Trace>(options.trace);
}

World::~World() = default;

Scheduler::Time World::now() noexcept {
  charge(options.model.clock);
  return Scheduler::Time(kEpoch + std::chrono::nanoseconds(time()));
}

void World::pause() noexcept {
  Thread& self = *running_;
  charge(options.model.poll);
  self.empty_polls = 0;
  const sim::Time from = time();
  if (!self.idle_since) self.idle_since = from;
  const sim::Time longest = std::max(options.model.poll.count() * self.node->slowness,
                                     (from - *self.idle_since) / kIdleShare);
  self.idle_place = self.node->idle.size();
  self.node->idle.push_back(&self);
  if (trace_) show_wait("wait", nullptr);
  wait_until(from + longest);
  if (trace_) show_end_of_wait(*running_, time());
  leave_idle(self);
}

void World::polled_in_vain() noexcept {
  charge(options.model.poll);
  if (++running_->empty_polls >= kEmptyPolls) pause();
}

void World::compute(std::chrono::nanoseconds how_long) noexcept {
  if (trace_) show_wait("compute", "computes");
  charge(how_long);
  wait_until(time());
  if (trace_) show_end_of_wait(*running_, time());
}

void World::interrupt() noexcept {
  if (trace_) show_wait("stall", "is interrupted");
  const std::uint64_t longest = std::uint64_t{1} << (1 + random.below(kInterruptScales));
  wait_until(time() + static_cast<sim::Time>(random.below(longest)));
  if (trace_) show_end_of_wait(*running_, time());
}

void World::sleep_for(std::chrono::nanoseconds how_long) noexcept {
  if (trace_) show_wait("wait", "sleeps");
  wait_until(after(time(), how_long));
  if (trace_) show_end_of_wait(*running_, time());
  got_on();
}

int World::wait_for_events(pollfd* descriptors, nfds_t count,
                           std::chrono::milliseconds timeout) noexcept {
  const sim::Time end = timeout.count() >= 0 ? after(time(), timeout) : kNever;
  for (;;) {
    charge(options.model.poll);
    const int ready = ::poll(descriptors, count, 0);
    if (ready != 0 || time() >= end) {
      got_on();
      return ready;
    }
    watch_until(end);
  }
}

void World::watch_until(sim::Time end) noexcept {
  Thread& self = *running_;
  self.watches = true;
  self.node->watchers.push_back(&self);
  if (trace_) show_wait("wait", "waits for descriptors");
  wait_until(end);
  if (trace_) show_end_of_wait(*running_, time());
  self.watches = false;
  std::erase(self.node->watchers, &self);
}

void World::signaled() noexcept { stir_watchers(*running_->node); }

void World::stir_watchers(Node& node) noexcept {
  for (Thread* const thread : node.watchers) wake(*thread, time() + options.model.poll.count());
}

void World::stir(Node& node) noexcept {
  for (Thread* const thread : node.idle) {
    thread->idle_place.reset();
    thread->idle_since.reset();
    wake(*thread,
         time() + static_cast<sim::Time>(random.below(options.model.poll.count() * node.slowness)));
  }
  node.idle.clear();
}

void World::leave_idle(Thread& thread) noexcept {
  if (!thread.idle_place) return;
  std::vector<Thread*>& idle = thread.node->idle;
  idle[*thread.idle_place] = idle.back();
  idle[*thread.idle_place]->idle_place = *thread.idle_place;
  idle.pop_back();
  thread.idle_place.reset();
}

void World::wake(Thread& thread, sim::Time at) noexcept {
  at = std::max(at, thread.ready);
  if (thread.state != Thread::State::kWaiting || at >= thread.wakes_at) return;
  thread.wakes_at = at;
  push(at, Happening::kWake, thread.number, ++thread.wait);
}

void World::wait_until(sim::Time end) noexcept {
  Thread& self = *running_;
  assert(!in_event_ && "cariama: an event of a simulation must not wait");
  self.state = Thread::State::kWaiting;
  self.wakes_at = end;
  self.shown.stopped.reset();
  self.ready = time();
  ++self.wait;
  if (end != kNever) push(end, Happening::kWake, self.number, self.wait);
  self.ahead = 0;
  Thread* const next = choose();
  if (next == &self) return;
  give_way(self, switch_to(next));
}

Thread& World::switch_to(Thread* chosen) noexcept {
  if (chosen == nullptr) {
    finish(alive_ == 0 ? std::string() : who_waits());
    return outside_;
  }
  ++switches_;
  return *chosen;
}

void World::give_way(Thread& self, Thread& next) noexcept {
  if (impersonates_) return self.stand.leave_for(next.stand);
  next.baton.give();
  self.baton.take();
}

void World::push(sim::Time at, Happening what, std::uint32_t who, std::uint64_t which) noexcept {
  // Later ones of a time are later by their number, or, if any order will do, by chance.
  const std::uint64_t by_chance = options.disorder.any_order ? random.next() << 40 : 0;
  events_.push({std::max(at, now_), by_chance + order_++, what, who, which});
}

void World::at(sim::Time when, std::function<void()> action) {
  auto number = static_cast<std::uint32_t>(actions_.size());
  if (free_actions_.empty()) {
    actions_.push_back(std::move(action));
  } else {
    number = free_actions_.back();
    free_actions_.pop_back();
    actions_[number] = std::move(action);
  }
  push(when, Happening::kAction, number, 0);
}

Thread* World::choose() noexcept {
  in_event_ = true;
  for (;;) {
    if (alive_ == parked_ && !revive()) return nullptr;
    if (events_.empty()) return nullptr;
    const Event event = events_.pop();
    over_limit_ = event.at > after(run_time_, options.time_limit);
    if (over_limit_) return nullptr;
    now_ = event.at;
    if (event.what != Happening::kWake) {
      happen(event);
      continue;
    }
    Thread& thread = *threads_[event.who];
    if (!may_run(thread, event)) continue;
    in_event_ = false;
    turns_.fetch_add(1, std::memory_order_relaxed);
    place_.store({thread.number, thread.node->number}, std::memory_order_relaxed);
    thread.state = Thread::State::kRunning;
    running_ = &thread;
    note(static_cast<std::uint64_t>(now_) ^ (std::uint64_t{thread.number} << 48));
    return &thread;
  }
}

bool World::may_run(Thread& thread, const Event& event) noexcept {
  if (thread.state != Thread::State::kWaiting || thread.wait != event.which) return false;
  Node& home = *thread.node;
  if (home.crashed && !home.revived) {
    home.parked.push_back(&thread);
    // Nothing wakes it any more.
    ++thread.wait;
    thread.wakes_at = 0;
    ++parked_;
    return false;
  }
  if (home.stopped_until > now_) {
    if (!thread.shown.stopped) thread.shown.stopped = now_;
    push(home.stopped_until, Happening::kWake, thread.number, thread.wait);
    return false;
  }
  return true;
}

void World::happen(const Event& event) noexcept {
  ++happened_;
  note(static_cast<std::uint64_t>(event.at) ^ (std::uint64_t{event.who} << 40) ^
       (static_cast<std::uint64_t>(event.what) << 60));
  if (event.what == Happening::kAction) {
    // It may plan others.
    const std::function<void()> action = std::exchange(actions_[event.who], nullptr);
    free_actions_.push_back(event.who);
    return action();
  }
  if (QueuePair* const pair = pairs_[event.who]) pair->happen(event.what, event.which);
}

bool World::revive() noexcept {
  if (!after_run_) {
    run_time_ = now_;
    close_trace();
  }
  after_run_ = true;
  bool any = false;
  for (const auto& home : nodes_) {
    if (home->parked.empty()) continue;
    any = home->revived = true;
    for (Thread* const thread : std::exchange(home->parked, {})) {
      thread->wakes_at = now_;
      push(now_, Happening::kWake, thread->number, ++thread->wait);
      --parked_;
    }
  }
  return any;
}

}  // namespace dtutils::sim
