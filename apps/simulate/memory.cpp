// SPDX-License-Identifier: MIT
// Workload memory: readers of all modes and writers of both, of segments that come and go.
#include "memory/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "dtutils/wait.hpp"
#include "memory_course.hpp"
#include "memory_tasks.hpp"
#include "watcher.hpp"
#include "workloads.hpp"

namespace simulate {
namespace {

constexpr std::uint32_t kMemoryRounds = 16;
constexpr std::uint32_t kSegments = 4;
/// Of a segment: within a line, of several lines, and longer than what one READ brings as a whole.
constexpr std::uint32_t kWords[] = {5, 25, 120};
constexpr std::uint64_t kLongestThought = 3'000;
/// A run that takes longer hangs: all operations end, whoever fails.
constexpr std::chrono::seconds kMemoryLimit{60};
/// What a process gives.
constexpr std::size_t kGiven = std::size_t{1} << 20;

/// One worker.
class Reader {
 public:
  Reader(dsfabric::Thread& self, const Run& run, MemoryCourse& course, memory::Space& space)
      : self_(self),
        fabric_(self.fabric()),
        run_(run),
        course_(course),
        node_(fabric_.process().value),
        me_(fabric_.rank_of(self.id())),
        tasks_(fabric_, run, course, space) {
    if (!run.strikes) return;
    if (below(6) == 0) dies_in_ = below(kMemoryRounds);
    if (below(6) == 0) stops_in_ = below(kMemoryRounds);
    if (below(24) == 0) suspects_in_ = below(kMemoryRounds);
  }

  void work() {
    if (me_ == 0) make_counters();
    for (std::uint32_t round = 0; round < kMemoryRounds && !gone(); ++round) {
      strike(round);
      try {
        step(run_.broken && me_ == 0 && round >= kMemoryRounds / 2);
      } catch (const dsfabric::PeerFailed&) {
        if (!gone() && !tasks_.disturbed()) throw;
      }
      tasks_.see_to_started();
      if (!gone()) ++course_.rounds[me_];
      simulated_.compute(std::chrono::nanoseconds(below(kLongestThought)));
      self_.progress();
    }
    tasks_.finish_started();
    if (me_ == 0) {
      serve_until([&] { return !course_.unfinished(fabric_, me_); });
      for (Counter& counter : course_.counters) tasks_.look(counter);
    }
    // Others need this home.
    course_.finished[me_] = true;
    serve_until([&] { return !course_.unfinished(fabric_); });
  }

 private:
  std::uint64_t below(std::uint64_t end) { return tasks_.below(end); }
  bool gone() const { return tasks_.gone(); }

  template <class Done>
  void serve_until(const Done& done) {
    dtutils::Backoff backoff;
    while (!done()) {
      self_.progress();
      backoff.pause();
    }
  }
  /// Homes of segments are the first nodes.
  dsfabric::ProcessId any_home() {
    return {static_cast<std::uint16_t>(below(std::min(run_.nodes, 2u)))};
  }

  /// Soon, so that it meets the middle of an operation.
  void strike(std::uint32_t round) {
    const auto soon = simulated_.time() + std::chrono::nanoseconds(below(8'000));
    const auto node = node_;
    auto& simulated = simulated_;
    if (round == dies_in_ && course_.deaths + 2 < run_.nodes) {
      ++course_.deaths;
      simulated.at(soon, [&simulated, node] { simulated.crash(node); });
    } else if (round == stops_in_) {
      const std::chrono::nanoseconds lasts(std::uint64_t{1} << (8 + below(14)));
      simulated.at(soon, [&simulated, node, lasts] { simulated.stop(node, lasts); });
    } else if (round == suspects_in_) {
      const std::uint64_t whom = below(run_.nodes);
      if (whom != node_) fabric_.fail({static_cast<std::uint16_t>(whom)}, "suspected in error");
    }
  }

  void step(bool wrong) {
    const auto which = static_cast<std::uint32_t>(below(kSegments));
    MemoryCourse::Slot& slot = course_.slots[which];
    const std::uint64_t way = below(24);
    if (way < 3) return tasks_.add(course_.counters[below(2)]);
    if (slot.life < 0) return make(slot, which);
    const auto life = static_cast<std::size_t>(slot.life);
    if (way < 8) return tasks_.write(life, wrong);
    if (way == 8 && below(2) == 0) return free(slot, life);
    // Pointers to what is gone, too.
    if (way == 9) return tasks_.read(below(course_.lives.size()));
    if (way < 15) return tasks_.read(life);
    if (way < 19) return tasks_.start(below(8) == 0 ? below(course_.lives.size()) : life);
    if (way < 21) return tasks_.read_subscribed(life);
    if (way == 21) return write_in_order(life);
    batch();
  }

  /// It, and another one of its home.
  void write_in_order(std::size_t first) {
    const dsfabric::ProcessId home = course_.lives[first].pointer.home();
    for (const MemoryCourse::Slot& slot : course_.slots) {
      if (slot.life < 0 || static_cast<std::size_t>(slot.life) == first) continue;
      const auto second = static_cast<std::size_t>(slot.life);
      if (course_.lives[second].pointer.home() == home) return tasks_.write_in_order(first, second);
    }
  }

  /// Of several segments, or of one.
  void batch() {
    std::vector<std::size_t> lives;
    for (std::uint64_t left = 1 + below(5); left != 0; --left) {
      const MemoryCourse::Slot& slot = course_.slots[below(kSegments)];
      if (slot.life >= 0) lives.push_back(static_cast<std::size_t>(slot.life));
    }
    tasks_.batch(lives);
  }

  /// Another segment, of the same size, at a home that lives.
  void make(MemoryCourse::Slot& slot, std::uint32_t which) {
    const auto threads = static_cast<std::uint32_t>(course_.rounds.size()) / run_.nodes;
    if (slot.maker >= 0 && !course_.given_up(static_cast<std::uint32_t>(slot.maker) / threads)) {
      return;
    }
    slot.maker = static_cast<int>(me_);
    const dsfabric::ProcessId home = any_home();
    const struct Over {
      MemoryCourse::Slot& slot;
      int me;
      ~Over() {
        if (slot.maker == me) slot.maker = -1;
      }
    } over{slot, static_cast<int>(me_)};
    const Moment begun = course_.now();
    const auto made = tasks_.client().allocate<std::uint64_t>(
        kWords[which % std::size(kWords)],
        memory::there(fabric_.failed(home) ? fabric_.process() : home));
    if (gone() || slot.maker != static_cast<int>(me_)) return;
    slot.life = static_cast<int>(course_.lives.size());
    course_.lives.push_back({made, kNoMoment, kNoMoment, {{begun, course_.now()}}});
  }

  void free(MemoryCourse::Slot& slot, std::size_t life) {
    slot.life = -1;
    const memory::GlobalPtr<std::uint64_t> pointer = course_.lives[life].pointer;
    course_.lives[life].free_begun = course_.now();
    if (tasks_.is_done(tasks_.client().free(pointer), "free"))
      course_.lives[life].freed = course_.now();
  }

  void make_counters() {
    using enum memory::Kind;
    for (const auto kind : {kVersioned, kPlain}) {
      const auto made = tasks_.client().allocate<std::uint64_t>(1, memory::there(any_home()), kind);
      if (!gone()) course_.counters[kind == kPlain].pointer = made;
    }
  }

  dsfabric::Thread& self_;
  dsfabric::Fabric& fabric_;
  const Run& run_;
  MemoryCourse& course_;
  dtutils::Simulation& simulated_ = *dtutils::Simulation::current();
  const std::uint32_t node_;
  const std::uint32_t me_;
  std::uint64_t dies_in_ = kMemoryRounds;
  std::uint64_t stops_in_ = kMemoryRounds;
  std::uint64_t suspects_in_ = kMemoryRounds;
  Tasks tasks_;
};

}  // namespace

Outcome run_memory(const Run& run) {
  simulation::Options options = run.options;
  options.config.threads = static_cast<std::uint32_t>(1 + run.options.cluster.seed % 2);
  options.cluster.time_limit = kMemoryLimit;
  MemoryCourse course(run.nodes, options.config.threads);
  course.slots.resize(kSegments);
  const auto program = [&](dsfabric::Fabric& fabric) {
    course.begins(fabric);
    const Watcher watcher(fabric, course.over);
    const AtEnd node_ends([&] { course.ends(fabric); });
    memory::Space space(fabric, {.bytes = kGiven});
    fabric.run([&](dsfabric::Thread& self) {
      const AtEnd worker_ends([&, me = fabric.rank_of(self.id())] { course.finished[me] = true; });
      Reader(self, run, course, space).work();
    });
  };
  const bool failures = run.failures || run.strikes;
  return run_checked({run.nodes, options, failures, run.strikes, run.broken}, program,
                     [&] { return course.check(kMemoryRounds, failures); });
}

}  // namespace simulate
