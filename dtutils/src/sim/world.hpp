// SPDX-License-Identifier: MIT
// The simulator: virtual time, who runs, and what happens next.
#pragma once

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dtutils/scheduler.hpp"
#include "dtutils/simulation.hpp"
#include "sim/events.hpp"
#include "sim/node.hpp"
#include "sim/random.hpp"
#include "sim/trace.hpp"

namespace dtutils::sim {

class QueuePair;
class SimDevice;

/// One of its threads runs at a time, which is what protects everything here: it holds the baton.
/// Who waits chooses the next one itself, and lets happen what comes before that; so events run on
/// the stack of whatever thread waits, and must not wait themselves.
class World final : public Scheduler {
 public:
  World(const SimulationOptions& options, Simulation& its_face);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() override;

  /// The world of the calling thread, or nullptr.
  static World* current() noexcept { return dynamic_cast<World*>(simulated_by()); }

  // --- threads, as Scheduler ------------------------------------------------------------------
  Scheduler::Time now() noexcept override;
  void pause() noexcept override;
  void sleep_for(std::chrono::nanoseconds time) noexcept override;
  int wait_for_events(pollfd* descriptors, nfds_t count,
                      std::chrono::milliseconds timeout) noexcept override;
  void signaled() noexcept override;
  /// Polls of the adapter in vain still make a pause: it may find something elsewhere for ever.
  void got_on() noexcept override {
    running_->idle_since.reset();
    if (trace_ != nullptr) [[unlikely]]
      show_quiet(*running_);
  }
  unsigned cores() const noexcept override { return options.cores; }
  ThreadNumber announce() override;
  void withdraw(ThreadNumber thread) noexcept override;
  void begin(ThreadNumber thread) noexcept override;
  void end(ThreadNumber thread) noexcept override;
  void wait_for_end(ThreadNumber thread) noexcept override;

  void start(Simulation::Node node, std::function<void()> body);
  SimulationReport run();
  /// See Simulation::caught.
  void caught();
  void enter(Simulation::Node node);
  /// No thread uses it any more.
  bool can_be_destroyed() const noexcept { return alive_ == 0; }

  // --- time -----------------------------------------------------------------------------------
  /// The time of the thread that runs, or of the event that happens.
  sim::Time time() const noexcept {
    return now_ + (in_event_ || running_ == nullptr ? 0 : running_->ahead);
  }
  /// The running thread computes for so long.
  void charge(std::chrono::nanoseconds time) noexcept {
    running_->ahead += time.count() * running_->node->slowness;
  }
  /// It has polled in vain, and may do so again without a pause.
  void polled_in_vain() noexcept;
  /// It has posted, or polled not in vain.
  void used_adapter() noexcept {
    got_on();
    running_->empty_polls = 0;
  }
  /// The running thread stands still here, when the disorder says so; others run meanwhile.
  void may_be_interrupted() noexcept {
    if (!in_event_ && random.once_in(options.disorder.interrupted)) [[unlikely]]
      interrupt();
  }
  /// The running thread computes for so long, and others run meanwhile.
  void compute(std::chrono::nanoseconds time) noexcept;
  /// The running thread waits until then, or until it is woken.
  void wait_until(sim::Time end) noexcept;
  /// Something has changed in the memory of the node, or in its queues.
  void stir(Node& node) noexcept;
  /// One of its descriptors has become readable.
  void stir_watchers(Node& node) noexcept;
  /// As wait_for_events: the running thread is woken by stir_watchers.
  void watch_until(sim::Time end) noexcept;

  // --- events ---------------------------------------------------------------------------------
  void push(sim::Time at, Happening what, std::uint32_t who, std::uint64_t which) noexcept;
  void at(sim::Time time, std::function<void()> action);
  void note(std::uint64_t value) noexcept {
    if (!after_run_) digest_.add(value);
  }

  // --- nodes and their network ----------------------------------------------------------------
  Node& node(Simulation::Node number);
  Node& running_node() noexcept { return *running_->node; }
  void crash(Node& node) noexcept;
  void on_crash(std::function<void(Simulation::Node)> upcall) { crashed_ = std::move(upcall); }
  void stop(Node& node, sim::Time until) noexcept;
  /// Whether what is sent now from one to the other gets there.
  bool reachable(const Node& from, const Node& to) noexcept;
  /// From adapter to adapter.
  sim::Time path(const Node& from, const Node& to) noexcept;
  struct Link {
    sim::Time cut_until = 0;
    sim::Time more = 0;
  };
  Link& link(Simulation::Node one, Simulation::Node other) {
    return links_[std::minmax(one, other)];
  }

  /// Numbers queue pairs, and finds them; nullptr when it is gone.
  std::uint32_t add(QueuePair& pair);
  void remove(std::uint32_t serial) noexcept { pairs_[serial] = nullptr; }
  QueuePair* pair(std::uint32_t serial) noexcept { return pairs_[serial]; }
  std::size_t pairs() const noexcept { return pairs_.size(); }
  /// The same for devices.
  std::uint32_t add(SimDevice& device);
  void remove_device(std::uint32_t number) noexcept { devices_[number] = nullptr; }
  SimDevice* device(std::uint32_t number) noexcept {
    return number < devices_.size() ? devices_[number] : nullptr;
  }

  // --- the trace of the run, tracing.cpp --------------------------------------------------------
  /// nullptr: there is none, or the run is over.
  Trace* trace() noexcept { return trace_.get(); }
  /// The line of the running thread, where it is shown what it does from now on.
  Trace::Place show_here() noexcept;
  /// Something strikes the node.
  void show_fault(const Node& node, std::string_view what);

  const SimulationOptions options;
  Simulation& face;
  Random random;

 private:
  Thread& make_thread(Node& node);
  void launch(Thread& thread, std::function<void()> body);
  void leave_idle(Thread& thread) noexcept;
  void interrupt() noexcept;
  void wake(Thread& thread, sim::Time at) noexcept;
  /// Lets happen what comes before a thread can go on, and makes that one the running one; nullptr:
  /// none ever can.
  Thread* choose() noexcept;
  bool may_run(Thread& thread, const Event& event) noexcept;
  void happen(const Event& event) noexcept;
  /// Wakes what crashed, when only that is left; false when there is nothing.
  bool revive() noexcept;
  /// The chosen one; if there is none, the run is over, and who called run() goes on.
  Thread& switch_to(Thread* chosen) noexcept;
  /// `next` goes on; returns when it is the turn of `self`.
  void give_way(Thread& self, Thread& next) noexcept;
  void finish(std::string error) noexcept;
  std::string who_waits();
  std::string waits_for(const Thread& thread) const;
  void guard();
  /// The running thread waits now; it goes on again.
  void show_wait(const char* kind, const char* what) noexcept;
  void show_end_of_wait(Thread& thread, sim::Time now) noexcept;
  /// What it has waited in vain so far.
  void show_quiet(Thread& thread) noexcept;
  void show_thread(Thread& thread);
  void close_trace();

  Events events_;
  std::uint64_t order_ = 0;
  sim::Time now_ = 0;
  bool in_event_ = false;
  Digest digest_;
  std::uint64_t happened_ = 0;
  std::uint64_t switches_ = 0;
  /// Times that a thread was chosen, for the guard.
  std::atomic<std::uint64_t> turns_{0};
  /// The one that was chosen last, for the guard too.
  struct Place {
    std::uint32_t thread;
    std::uint32_t node;
  };
  std::atomic<Place> place_{};

  /// Held while `threads_` grows, and by who looks into it without the baton.
  std::mutex growing_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::size_t alive_ = 0;
  std::size_t parked_ = 0;
  Thread* running_ = nullptr;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::pair<Simulation::Node, Simulation::Node>, Link> links_;
  std::vector<QueuePair*> pairs_;
  std::vector<SimDevice*> devices_;
  /// Those that are to come, and which places are free again.
  std::vector<std::function<void()>> actions_;
  std::vector<std::uint32_t> free_actions_;
  std::function<void(Simulation::Node)> crashed_;

  std::vector<std::thread> started_;
  /// There is no run, but a thread that has entered.
  bool entered_ = false;
  /// Threads give way without the kernel.
  const bool impersonates_;
  /// The thread that called run().
  Thread outside_;
  std::mutex ending_;
  std::condition_variable end_;
  bool ended_ = false;
  bool after_run_ = false;
  /// What comes next would come after SimulationOptions::time_limit.
  bool over_limit_ = false;
  sim::Time run_time_ = 0;
  std::string error_;
  std::string thrown_;
  std::unique_ptr<Trace> trace_;
  std::string trace_error_;
  /// The core on which all threads of the run take turns.
  cpu_set_t core_{};
};

}  // namespace dtutils::sim
