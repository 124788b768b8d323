// SPDX-License-Identifier: MIT
// How each operation begins, is executed and ends.
#include "memory_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace simulate {
namespace {

using What = Task::What;

constexpr const char* kNames[] = {"read", "write", "count", "add to", "swap"};
constexpr std::size_t kMostHeld = 3;
/// Between two reads of a Subscription that follow each other.
constexpr std::uint64_t kLongestLook = 2'000;

const char* name_of(const Task& task) { return kNames[static_cast<std::size_t>(task.what)]; }

}  // namespace

Tasks::Tasks(dsfabric::Fabric& fabric, const Run& run, MemoryCourse& course, memory::Space& space)
    : fabric_(fabric),
      run_(run),
      course_(course),
      node_(fabric.process().value),
      causal_(run.nodes),
      subscriptions_(below(3) == 0 ? 2u : 64u),
      // Few of both in some runs, so that copies and subscriptions make room for others.
      client_(space,
              {.cache_bytes = below(3) == 0 ? 2'500u : 0u, .subscriptions = subscriptions_}) {}

Tasks::~Tasks() { finish_started(); }

bool Tasks::is_done(memory::Status status, const char* what, bool freed) {
  if (gone() || status == memory::Status::kDone) return !gone();
  if (status == memory::Status::kFreed ? freed
                                       : disturbed() && (status == memory::Status::kHomeFailed ||
                                                         status == memory::Status::kDamaged)) {
    return false;
  }
  course_.violated(fmt::format("node {} cannot {}: {}", node_, what, memory::to_string(status)));
  return false;
}

Tasks::Owned Tasks::begin(What what, std::size_t life) {
  if (what == What::kWrite) {
    memory::WriteOptions options;
    if (below(2) == 0) options.mode = memory::WriteMode::kOneSided;
    options.causal = below(4) == 0;
    return begin_write(life, options);
  }
  auto task = std::make_unique<Task>();
  task->what = what;
  task->life = life;
  task->begun = course_.now();
  const memory::GlobalPtr<std::uint64_t> whole = course_.lives[life].pointer;
  // Some of its words, or all.
  const std::uint64_t first = below(2) == 0 ? 0 : below(whole.size());
  task->words.resize(first == 0 ? whole.size() : 1 + below(whole.size() - first));
  task->pointer = whole + static_cast<std::int64_t>(first);
  task->mode = static_cast<memory::ReadMode>(below(3));
  return task;
}

Tasks::Owned Tasks::begin_write(std::size_t life, memory::WriteOptions options) {
  auto task = std::make_unique<Task>();
  task->what = What::kWrite;
  task->life = life;
  task->begun = course_.now();
  task->pointer = course_.lives[life].pointer;
  task->options = options;
  WriteName* const before = options.causal ? &causal_[task->pointer.home().value] : nullptr;
  task->words.assign(task->pointer.size(), course_.begin_write(life, before));
  return task;
}

Tasks::Owned Tasks::begin(What what, Counter& counter) {
  auto task = std::make_unique<Task>();
  task->what = what;
  task->counter = &counter;
  task->begun = course_.now();
  task->pointer = counter.pointer;
  task->done = counter.done;
  task->words.resize(1);
  task->expected = seen_[static_cast<std::size_t>(&counter - course_.counters)];
  if (what != What::kLook) ++counter.begun;
  return task;
}

Tasks::Owned Tasks::begin_any(std::size_t life) {
  Counter& counter = course_.counters[below(2)];
  const std::uint64_t way = below(8);
  if (way < 3 && counter.pointer) return begin(way == 0 ? What::kSwap : What::kAdd, counter);
  return begin(way < 5 ? What::kWrite : What::kRead, life);
}

memory::Status Tasks::execute(Task& task) {
  switch (task.what) {
    case What::kWrite:
      return client_.write(task.pointer, std::span<const std::uint64_t>(task.words), task.options);
    case What::kAdd:
      return client_.fetch_add(task.pointer, 1, task.before);
    case What::kSwap:
      return client_.compare_and_swap(task.pointer, task.expected, task.expected + 1, task.before);
    default:
      return client_.read(task.pointer, std::span<std::uint64_t>(task.words), task.mode);
  }
}

void Tasks::run(Task& task) { end(task, execute(task)); }

void Tasks::end(Task& task, memory::Status status) {
  if (std::exchange(task.ended, true)) course_.violated("the end of an operation was told twice");
  if (!is_done(status, name_of(task), is_freed(task))) return;
  const bool told = is_told(task.mode, task.pointer.home());
  if (task.what == What::kRead) return course_.read(task.life, task.words, task.begun, told);
  if (task.what == What::kWrite) return course_.wrote(task.life, task.words[0], task.begun);
  Counter& counter = *task.counter;
  const std::uint64_t found = task.what == What::kLook ? task.words[0] : task.before;
  const bool added =
      task.what == What::kAdd || (task.what == What::kSwap && found == task.expected);
  seen_[static_cast<std::size_t>(&counter - course_.counters)] = found + (added ? 1 : 0);
  if (added) return course_.added(counter, found, task.done);
  if (task.what == What::kSwap) --counter.begun;
  // A subscriber that its home has given up may not know it yet.
  if (told) course_.counted(counter, found, task.done);
}

void Tasks::fail(const Task& task) {
  if (gone() || disturbed() || is_freed(task)) return;
  course_.violated(fmt::format("node {} cannot {}, and nobody failed", node_, name_of(task)));
}

void Tasks::read(std::size_t life) { run(*begin(What::kRead, life)); }

void Tasks::write(std::size_t life, bool wrong) {
  const Owned task = begin(What::kWrite, life);
  if (wrong) task->words.back() = 0;
  run(*task);
}

void Tasks::look(Counter& counter) {
  if (counter.pointer) run(*begin(What::kLook, counter));
}

void Tasks::add(Counter& counter) {
  if (!counter.pointer) return;
  const std::uint64_t way = below(4);
  if (way == 0) {
    const Owned task = begin(What::kLook, counter);
    task->mode = static_cast<memory::ReadMode>(below(3));
    return run(*task);
  }
  // What it has seen last is old, mostly.
  if (way == 1) look(counter);
  run(*begin(way == 1 ? What::kSwap : What::kAdd, counter));
}

template <class Then>
void Tasks::start_with(Task& task, Then&& then) {
  switch (task.what) {
    case What::kWrite:
      return client_.start_write(task.pointer, std::span<const std::uint64_t>(task.words),
                                 task.options, then);
    case What::kAdd:
      return client_.start_fetch_add(task.pointer, 1, task.before, then);
    case What::kSwap:
      return client_.start_compare_and_swap(task.pointer, task.expected, task.expected + 1,
                                            task.before, then);
    default:
      return client_.start_read(task.pointer, std::span<std::uint64_t>(task.words), task.mode,
                                then);
  }
}

void Tasks::start(std::size_t life) {
  if (may_start(1)) start(begin_any(life));
}

Task& Tasks::start(Owned owned) {
  Task& task = *started_.emplace_back(std::move(owned));
  if (task.synchronized = below(4) == 0; task.synchronized) {
    task.told.expect(1);
    start_with(task, task.told);
  } else {
    start_with(task, [this, to = &task](memory::Status status) {
      if (!to->started) course_.violated("an operation ended before its start had returned");
      end(*to, status);
    });
  }
  task.started = true;
  return task;
}

void Tasks::write_in_order(std::size_t first, std::size_t second) {
  if (!may_start(2)) return;
  (void)start(begin_write(first, {.causal = true}));
  const Task& last = start(begin_write(second, {.causal = true}));
  client_.wait_until([&] { return last.ended || (last.synchronized && last.told.done()); });
  see_to_started();
  read(first);
}

void Tasks::see_to_started() {
  for (const Owned& task : started_) {
    if (!task->synchronized || !task->told.done()) continue;
    if (task->told.failures() == 0) {
      end(*task, memory::Status::kDone);
    } else {
      fail(*task);
      task->ended = true;
    }
  }
  std::erase_if(started_, [](const Owned& task) { return task->ended; });
}

void Tasks::finish_started() {
  client_.wait_until([this] { return client_.under_way() == 0; });
  see_to_started();
  if (!started_.empty() && !gone()) course_.violated("nobody was told of the end of an operation");
}

void Tasks::batch(const std::vector<std::size_t>& lives) {
  std::vector<Owned> tasks;
  memory::Batch batch(client_);
  for (const std::size_t life : lives) {
    Task& task = *tasks.emplace_back(begin_any(life));
    switch (task.what) {
      case What::kWrite:
        batch.write(task.pointer, std::span<const std::uint64_t>(task.words), task.options);
        break;
      case What::kAdd:
        batch.fetch_add(task.pointer, 1, task.before);
        break;
      case What::kSwap:
        batch.compare_and_swap(task.pointer, task.expected, task.expected + 1, task.before);
        break;
      default:
        batch.read(task.pointer, std::span<std::uint64_t>(task.words), task.mode);
    }
  }
  // One status for all: which of them it is of is not known.
  const memory::Status status = batch.wait();
  const bool freed = std::ranges::any_of(tasks, [&](const Owned& task) { return is_freed(*task); });
  if (!is_done(status, "execute a batch", freed)) return;
  for (const Owned& task : tasks) end(*task, status);
}

void Tasks::subscribe(std::size_t life) {
  const Owned task = begin(What::kRead, life);
  try {
    held_.push_back({life, task->words.size(), {client_, task->pointer}});
  } catch (const dsfabric::PeerFailed&) {
    throw;
  } catch (const dtutils::Error& error) {
    if (!gone() && !is_freed(*task) && !disturbed() && subscriptions_ > kMostHeld) {
      course_.violated(error.what());
    }
  }
}

void Tasks::read_subscribed(std::size_t life) {
  if (held_.empty() || (held_.size() < kMostHeld && below(3) == 0)) return subscribe(life);
  Held& held = held_[below(held_.size())];
  if (below(6) == 0) {
    std::swap(held, held_.back());
    return held_.pop_back();
  }
  // A copy that is old and counts as new shows in the read after the one that has fetched it.
  for (std::uint64_t left = 1 + below(4); left != 0; --left) {
    const Owned task = begin(What::kRead, held.life);
    task->mode = memory::ReadMode::kSubscribed;
    task->pointer = held.subscription.pointer();
    task->words.resize(1 + below(held.room));
    end(*task, held.subscription.read(std::span<std::uint64_t>(task->words)));
    simulated_.compute(std::chrono::nanoseconds(below(kLongestLook)));
  }
}

}  // namespace simulate
