// SPDX-License-Identifier: MIT
// Workload memory: readers of all modes and writers of both, of segments that come and go.
#include "memory/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "dtutils/wait.hpp"
#include "memory_course.hpp"
#include "watcher.hpp"
#include "workloads.hpp"

namespace simulate {
namespace {

constexpr std::uint32_t kMemoryRounds = 24;
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
        // Few of both in some runs, so that copies and subscriptions make room for others.
        client_(space, {.cache_bytes = below(3) == 0 ? 2'500u : 0u,
                        .subscriptions = below(3) == 0 ? 2u : 64u}) {
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
        if (!gone() && !course_.disturbed() && !run_.failures) throw;
      }
      if (!gone()) ++course_.rounds[me_];
      simulated_.compute(std::chrono::nanoseconds(below(kLongestThought)));
      self_.progress();
    }
    if (me_ == 0) {
      serve_until([&] { return !course_.unfinished(fabric_, me_); });
      for (Counter& counter : course_.counters) look(counter);
    }
    // Others need this home.
    course_.finished[me_] = true;
    serve_until([&] { return !course_.unfinished(fabric_); });
  }

 private:
  std::uint64_t below(std::uint64_t end) { return simulated_.random() % end; }
  bool is_freed(std::size_t life) const { return course_.lives[life].free_begun != kNoMoment; }
  /// What a node does that is woken after the run is no part of it.
  bool gone() const { return simulated_.crashed(node_); }
  bool is_told(dsfabric::ProcessId home) const { return course_.is_told(node_, home.value); }

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
    const std::uint64_t way = below(16);
    if (way < 3) return add(course_.counters[below(2)]);
    if (slot.life < 0) return make(slot, which);
    const auto life = static_cast<std::size_t>(slot.life);
    if (way < 8) return write(life, wrong);
    if (way == 8 && below(2) == 0) return free(slot, life);
    // Pointers to what is gone, too.
    read(way == 9 ? below(course_.lives.size()) : life);
  }

  /// False: it tells nothing of the segment, of which a free has begun or not.
  bool is_done(memory::Status status, const char* what, bool freed = false) {
    if (gone() || status == memory::Status::kDone) return !gone();
    const bool disturbed = course_.disturbed() || run_.failures;
    if (status == memory::Status::kFreed ? freed
                                         : disturbed && (status == memory::Status::kHomeFailed ||
                                                         status == memory::Status::kDamaged)) {
      return false;
    }
    course_.violated(fmt::format("worker {} cannot {}: {}", me_, what, memory::to_string(status)));
    return false;
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
    const auto made = client_.allocate<std::uint64_t>(
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
    if (is_done(client_.free(pointer), "free")) course_.lives[life].freed = course_.now();
  }

  void write(std::size_t life, bool wrong) {
    const memory::GlobalPtr<std::uint64_t> pointer = course_.lives[life].pointer;
    const std::uint64_t value = course_.begin_write(life);
    const Moment begun = course_.now();
    std::vector<std::uint64_t> values(pointer.size(), value);
    if (wrong) values.back() = 0;
    memory::WriteOptions options;
    if (below(2) == 0) options.mode = memory::WriteMode::kOneSided;
    options.causal = below(4) == 0;
    const auto status = client_.write(pointer, std::span<const std::uint64_t>(values), options);
    if (is_done(status, "write", is_freed(life))) course_.wrote(life, value, begun);
  }

  void read(std::size_t life) {
    // Some of its words, or all.
    const memory::GlobalPtr<std::uint64_t> whole = course_.lives[life].pointer;
    const std::uint64_t first = below(2) == 0 ? 0 : below(whole.size());
    std::vector<std::uint64_t> found(first == 0 ? whole.size() : 1 + below(whole.size() - first));
    const Moment begun = course_.now();
    const auto mode = static_cast<memory::ReadMode>(below(3));
    const auto status = client_.read(whole + static_cast<std::int64_t>(first),
                                     std::span<std::uint64_t>(found), mode);
    if (!is_done(status, "read", is_freed(life))) return;
    // A subscriber that its home has given up may not know it yet.
    course_.read(life, found, begun,
                 mode != memory::ReadMode::kSubscribed || is_told(whole.home()));
  }

  void make_counters() {
    using enum memory::Kind;
    for (const auto kind : {kVersioned, kPlain}) {
      const auto made = client_.allocate<std::uint64_t>(1, memory::there(any_home()), kind);
      if (!gone()) course_.counters[kind == kPlain].pointer = made;
    }
  }

  /// All have finished with it.
  void look(Counter& counter) {
    std::uint64_t found = 0;
    if (!counter.pointer || !is_done(client_.read(counter.pointer, found), "count")) return;
    course_.counted(counter, found, counter.done);
  }

  /// Adds one to it, or looks.
  void add(Counter& counter) {
    if (!counter.pointer) return;
    const std::uint64_t done = counter.done;
    std::uint64_t before = 0;
    const std::uint64_t way = below(4);
    if (way == 0) {
      const auto mode = static_cast<memory::ReadMode>(below(3));
      if (!is_done(client_.read(counter.pointer, before, mode), "count")) return;
      if (mode == memory::ReadMode::kSubscribed && !is_told(counter.pointer.home())) return;
      return course_.counted(counter, before, done);
    }
    ++counter.begun;
    if (way == 1) {
      if (!is_done(client_.read(counter.pointer, before), "count")) return (void)--counter.begun;
      const std::uint64_t expected = before;
      const auto status = client_.compare_and_swap(counter.pointer, expected, expected + 1, before);
      if (!is_done(status, "swap")) return;
      if (before == expected) return course_.added(counter, before, done);
      --counter.begun;
      return course_.counted(counter, before, done);
    }
    if (!is_done(client_.fetch_add(counter.pointer, 1, before), "add to")) return;
    course_.added(counter, before, done);
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
  memory::Client client_;
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
