// SPDX-License-Identifier: MIT
// World: the beginning and the end of a run.
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
      } catch (const std::exception& error) {
        // What a node throws that has crashed is no part of the run.
        if (thrown_.empty() && !thread.node->crashed) {
          thrown_ = fmt::format("node {}: {}", thread.node->number, error.what());
        }
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
  std::string text = fmt::format(
      "after {} ns of virtual time nothing happens any more, or the "
      "limit of {} s is over; these threads still wait:",
      now_, options.time_limit / std::chrono::seconds(1));
  for (const auto& thread : threads_) {
    if (thread->state == Thread::State::kEnded) continue;
    text += fmt::format(" {} of node {}{}", thread->number, thread->node->number,
                        thread->node->crashed ? " (crashed)" : "");
  }
  return text;
}

void World::guard() {
  std::unique_lock lock(ending_);
  for (std::uint64_t seen = 0;;) {
    if (end_.wait_for(lock, options.patience, [this] { return ended_; })) return;
    const std::uint64_t turns = turns_.load(std::memory_order_relaxed);
    if (turns == seen) {
      if (trace_) trace_->flush();
      give_up(fmt::format("a thread runs for {} s without waiting, or waits for the machine",
                          options.patience.count()));
    }
    seen = turns;
  }
}

}  // namespace dtutils::sim
