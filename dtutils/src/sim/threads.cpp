// SPDX-License-Identifier: MIT
// World: the beginning and the end of threads.
#include <memory>
#include <mutex>

#include "sim/world.hpp"

namespace dtutils::sim {
namespace {

/// From the start of a thread to its first instruction.
constexpr sim::Time kThreadStart = 5'000;

}  // namespace

Thread& World::make_thread(Node& home) {
  const std::scoped_lock lock(growing_);
  threads_.push_back(std::make_unique<Thread>());
  Thread& thread = *threads_.back();
  thread.number = static_cast<std::uint32_t>(threads_.size() - 1);
  thread.node = &home;
  ++alive_;
  if (trace_) show_thread(thread);
  return thread;
}

Scheduler::ThreadNumber World::announce() {
  Thread& thread = make_thread(*running_->node);
  wake(thread, time() + kThreadStart);
  return thread.number;
}

void World::withdraw(ThreadNumber number) noexcept {
  threads_[number]->state = Thread::State::kEnded;
  --alive_;
}

void World::begin(ThreadNumber number) noexcept {
  adopt_this_thread(this);
  Thread* self = nullptr;
  {
    // It has no baton yet.
    const std::scoped_lock lock(growing_);
    self = threads_[number].get();
  }
  if (impersonates_) return self->stand.park();
  self->baton.take();
  if (CPU_COUNT(&core_) != 0) sched_setaffinity(0, sizeof core_, &core_);
}

void World::end(ThreadNumber number) noexcept {
  Thread& self = *threads_[number];
  self.state = Thread::State::kEnded;
  --alive_;
  for (Thread* const joiner : self.joiners) wake(*joiner, time());
  adopt_this_thread(nullptr);
  Thread& next = switch_to(choose());
  if (impersonates_) return self.stand.leave_for_good(next.stand);
  next.baton.give();
}

void World::wait_for_end(ThreadNumber number) noexcept {
  Thread& other = *threads_[number];
  while (other.state != Thread::State::kEnded) {
    Thread& self = *running_;
    other.joiners.push_back(&self);
    self.joins = number;
    if (trace_) show_wait("wait", "waits for the end of a thread");
    wait_until(kNever);
    self.joins.reset();
    if (trace_) show_end_of_wait(*running_, time());
  }
}

}  // namespace dtutils::sim
