// SPDX-License-Identifier: MIT
// The operations of a worker of the workload memory: at once, started, in batches, and subscribed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/memory.hpp"
#include "memory_course.hpp"
#include "workloads.hpp"

namespace simulate {

/// One operation, from its beginning to its end. Stays where it is.
struct Task {
  enum class What : std::uint8_t { kRead, kWrite, kLook, kAdd, kSwap };
  What what = What::kRead;
  /// Of a segment that is read or written.
  std::size_t life = 0;
  /// One that is looked at or added to; nullptr: it is a segment.
  Counter* counter = nullptr;
  /// Of a read.
  memory::ReadMode mode = memory::ReadMode::kValidated;
  memory::GlobalPtr<std::uint64_t> pointer;
  /// What was read, or is written.
  std::vector<std::uint64_t> words;
  memory::WriteOptions options;
  /// Of an addition.
  std::uint64_t expected = 0;
  std::uint64_t before = 0;
  /// When it began; additions that had returned then.
  Moment begun = 0;
  std::uint64_t done = 0;
  /// The call that started it has returned, and it has ended.
  bool started = false;
  bool ended = false;
  /// Its end decrements this one, instead of running a continuation.
  bool synchronized = false;
  dtutils::Synchronizer told{0};
};

/// What a worker reads, writes and adds, each of it checked when it ends.
class Tasks {
 public:
  Tasks(dsfabric::Fabric& fabric, const Run& run, MemoryCourse& course, memory::Space& space);
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;
  ~Tasks();

  memory::Client& client() { return client_; }
  std::uint64_t below(std::uint64_t end) { return simulated_.random() % end; }
  /// What a node does that is woken after the run is no part of it.
  bool gone() const { return simulated_.crashed(node_); }
  bool disturbed() const { return course_.disturbed() || run_.failures; }
  /// False: it tells nothing of the segment, of which a free has begun or not.
  bool is_done(memory::Status status, const char* what, bool freed = false);

  /// Of one segment, some of its words or all; `wrong` writes parts of two.
  void read(std::size_t life);
  void write(std::size_t life, bool wrong);
  /// Adds one to it, or looks.
  void add(Counter& counter);
  /// A validated look, of all additions that will ever be.
  void look(Counter& counter);

  /// The same, of one segment or counter, later: by a continuation or a Synchronizer.
  void start(std::size_t life);
  /// Causal writes of two segments of one home, and a read of the first when the second has ended.
  void write_in_order(std::size_t first, std::size_t second);
  /// The same of several of them, under one wait.
  void batch(const std::vector<std::size_t>& lives);
  /// Reads, now and then several in a row, by a Subscription, which is made, moved and ended.
  void read_subscribed(std::size_t life);
  /// Looks after those that were started.
  void see_to_started();
  /// Waits for them.
  void finish_started();

 private:
  using Owned = std::unique_ptr<Task>;
  static constexpr std::size_t kMostStarted = 6;
  struct Held {
    std::size_t life;
    /// Words from its pointer on that are read at most.
    std::size_t room;
    memory::Subscription<std::uint64_t> subscription;
  };

  bool is_freed(const Task& task) const {
    return task.counter == nullptr && course_.lives[task.life].free_begun != kNoMoment;
  }
  /// The home tells this process of new versions, as far as anybody knows.
  bool is_told(memory::ReadMode mode, dsfabric::ProcessId home) const {
    return mode != memory::ReadMode::kSubscribed || course_.is_told(node_, home.value);
  }
  Owned begin(Task::What what, std::size_t life);
  Owned begin_write(std::size_t life, memory::WriteOptions options);
  Owned begin(Task::What what, Counter& counter);
  /// Of a segment or, now and then, of a counter.
  Owned begin_any(std::size_t life);
  /// Executes it, and waits.
  void run(Task& task);
  memory::Status execute(Task& task);
  bool may_start(std::size_t more) const { return started_.size() + more <= kMostStarted; }
  Task& start(Owned task);
  template <class Then>
  void start_with(Task& task, Then&& then);
  void add_to(memory::Batch& batch, Task& task);
  /// It has ended so.
  void end(Task& task, memory::Status status);
  /// It has ended, and somebody knows only that it, or another one, was not done.
  void fail(const Task& task);
  void subscribe(std::size_t life);

  dsfabric::Fabric& fabric_;
  const Run& run_;
  MemoryCourse& course_;
  dtutils::Simulation& simulated_ = *dtutils::Simulation::current();
  const std::uint32_t node_;
  /// What each counter was when it was seen last.
  std::array<std::uint64_t, 2> seen_{};
  /// The last causal write to each home.
  std::vector<WriteName> causal_;
  std::vector<Owned> started_;
  const std::uint32_t subscriptions_;
  memory::Client client_;
  std::vector<Held> held_;
};

}  // namespace simulate
