// SPDX-License-Identifier: MIT
// World: the beginning and the end of a run.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#include "dtutils/error.hpp"
#include "sim/world.hpp"

namespace dtutils::sim {
namespace {

/// Of those that wait for ever, so many are named.
constexpr std::size_t kNamed = 32;

/// Threads that hang cannot be ended one by one.
[[noreturn]] void give_up(std::string_view why) {
  fmt::print(stderr, "cariama simulation: {}; the process is aborted\n", why);
  std::abort();
}

}  // namespace

void World::start(Simulation::Node number, std::function<void()> body) {
  Thread& thread = make_thread(node(number));
  wake(thread, running_ != nullptr ? time() : 0);
  try {
    started_.emplace_back([this, &thread, work = std::move(body)] {
      begin(thread.number);
      try {
        work();
      } catch (...) {
        caught();
      }
      end(thread.number);
    });
    // No run waits for it.
    if (entered_) {
      started_.back().detach();
      started_.pop_back();
    }
  } catch (...) {
    withdraw(thread.number);
    throw;
  }
}

void World::caught() {
  const Node& home = *running_->node;
  // What a node throws that has crashed is no part of the run.
  if (!thrown_.empty() || home.crashed) return;
  try {
    throw;
  } catch (const std::exception& error) {
    thrown_ = fmt::format("node {}: {}", home.number, error.what());
  } catch (...) {
    thrown_ = fmt::format("node {}: it has thrown what is no std::exception", home.number);
  }
}

void World::enter(Simulation::Node number) {
  if (simulated_by() != nullptr || running_ != nullptr) {
    throw Error("simulation", "the thread, or the simulation, runs already", "enter it once");
  }
  Thread& thread = make_thread(node(number));
  thread.state = Thread::State::kRunning;
  running_ = &thread;
  entered_ = true;
  thread.stand.be_runner();
  adopt_this_thread(this);
}

SimulationReport World::run() {
  if (simulated_by() != nullptr || running_ != nullptr || ended_) {
    throw Error("simulation", "it runs already, has ended, or was asked to run inside of another",
                "make a simulation for each run");
  }
  // One core: the next thread goes on where the last one stops.
  CPU_ZERO(&core_);
  CPU_SET(static_cast<unsigned>(std::max(sched_getcpu(), 0)), &core_);
  std::thread guardian([this] { guard(); });
  outside_.stand.be_runner();
  Thread& first = switch_to(choose());
  if (&first != &outside_) give_way(outside_, first);
  guardian.join();
  if (error_.empty()) {
    for (std::thread& thread : started_) thread.join();
  } else {
    // They sleep for ever.
    for (std::thread& thread : started_) thread.detach();
  }
  close_trace();
  if (!thrown_.empty()) error_ = error_.empty() ? thrown_ : thrown_ + "; then " + error_;
  return {error_,
          digest_.value(),
          happened_,
          switches_,
          std::chrono::nanoseconds(after_run_ ? run_time_ : now_),
          trace_error_};
}

void World::finish(std::string error) noexcept {
  if (entered_) give_up("the thread that has entered waits for what never comes: " + error);
  error_ = std::move(error);
  {
    const std::scoped_lock lock(ending_);
    ended_ = true;
  }
  end_.notify_all();
}

std::string World::who_waits() {
  const std::string limit =
      fmt::format("the limit of {} (time_limit) of virtual time is over", options.time_limit);
  std::string text = over_limit_ ? limit + "; these threads still wait:"
                                 : fmt::format(
                                       "after {} ns of virtual time nothing happens any "
                                       "more; these threads still wait:",
                                       now_);
  // Those of nodes that have crashed tell less.
  std::size_t more = 0;
  std::size_t named = 0;
  for (const bool crashed : {false, true}) {
    for (const auto& thread : threads_) {
      if (thread->state == Thread::State::kEnded || thread->node->crashed != crashed) continue;
      if (named == kNamed) {
        ++more;
        continue;
      }
      text += fmt::format("{} {} of node {}{}, {}", named++ == 0 ? "" : ";", thread->number,
                          thread->node->number, crashed ? " (crashed)" : "", waits_for(*thread));
    }
  }
  return more == 0 ? text : text + fmt::format("; and {} more", more);
}

std::string World::waits_for(const Thread& thread) const {
  const auto since = [](sim::Time from) { return std::chrono::nanoseconds(from); };
  if (thread.node->stopped_until > now_) return "whose node is stopped";
  if (thread.watches) return fmt::format("for descriptors since {}", since(thread.ready));
  if (thread.joins) return fmt::format("for the end of thread {}", *thread.joins);
  if (thread.idle_since) {
    return fmt::format("which looks for something in vain since {}", since(*thread.idle_since));
  }
  return fmt::format("which sleeps since {}", since(thread.ready));
}

void World::guard() {
  std::unique_lock lock(ending_);
  for (std::uint64_t seen = 0;;) {
    if (end_.wait_for(lock, options.patience, [this] { return ended_; })) return;
    const std::uint64_t turns = turns_.load(std::memory_order_relaxed);
    if (turns == seen) {
      if (trace_) trace_->flush();
      const Place place = place_.load(std::memory_order_relaxed);
      give_up(
          fmt::format("thread {} of node {} runs for {} s without waiting, or waits for the "
                      "machine (a std::mutex, a sleep, a socket); look at it under a debugger, "
                      "and let it wait as dtutils/wait.hpp says",
                      place.thread, place.node, options.patience.count()));
    }
    seen = turns;
  }
}

}  // namespace dtutils::sim
