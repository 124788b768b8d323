// SPDX-License-Identifier: MIT
// Keeper: the rounds of a repair.
#include "keeper.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "counter_repair.hpp"
#include "dsfabric/send_channel.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "queue_repair.hpp"
#include "space_core.hpp"

namespace locks::detail {
namespace {

using dsfabric::ProcessId;
using dsfabric::ThreadId;

constexpr std::chrono::milliseconds kLook{5};
constexpr std::chrono::seconds kFlushBeforeThaw{5};

/// Between two questions to those that are not ready: at first, and at most, since a step may wait
/// for a home that does not answer any more.
constexpr std::chrono::nanoseconds kFirstSleep = std::chrono::microseconds(2);
constexpr std::chrono::nanoseconds kLongestSleep = std::chrono::milliseconds(1);

}  // namespace

Keeper::Keeper(SpaceCore& core) : core_(core) {}

Keeper::~Keeper() { stop(); }

void Keeper::start() {
  buffer_ = core_.fabric().general_allocator().allocate(core_.options().places * sizeof(Place));
  thread_ = dtutils::JoinableThread([this] { run(); });
}

void Keeper::stop() {
  stop_.store(true, std::memory_order_release);
  changed_.wake();
  if (thread_.joinable()) thread_.join();
}

void Keeper::run() {
  for (;;) {
    // Before the look: who wishes for something after it wakes the sleep that follows.
    changed_.clear();
    if (stopped()) return await_thaw();
    bool limited = false;
    if (take_wish(limited)) {
      repair(limited);
      continue;
    }
    pollfd news[] = {{changed_.fd(), POLLIN, 0}};
    (void)dtutils::wait_for_events(news, std::chrono::milliseconds(-1));
  }
}

std::vector<std::uint16_t> Keeper::failed() const {
  std::vector<std::uint16_t> all;
  for (std::uint16_t i = 0; i < core_.fabric().founders(); ++i) {
    if (core_.fabric().failed({i})) all.push_back(i);
  }
  return all;
}

bool Keeper::takes_part(std::uint16_t process) const {
  return core_.fabric().state({process}) == dsfabric::PeerState::kActive && present_[process];
}

void Keeper::repair(bool limited) {
  ++repair_;
  bool complete = false;
  while (!complete && !stopped()) {
    begin_round();
    dead_ = failed();
    if (!freeze_all(limited)) continue;
    end_freezing();
    if (core_.options().scheme == Scheme::kSrsl) {
      core_.server().remove_dead(dead_);
      complete = true;
    } else {
      complete = read_all();
      if (complete) {
        rebuild_all();
        write_all();
      }
    }
  }
  if (complete) {
    for (const std::uint16_t process : dead_) core_.settle({process});
    repairs_.fetch_add(1, std::memory_order_relaxed);
  }
  end_freezing();
  thaw_all();
}

bool Keeper::freeze_all(bool limited) {
  const ProcessId here = core_.here();
  std::vector<std::uint16_t> left;
  for (std::uint16_t i = 0; i < core_.fabric().founders(); ++i) {
    if (i != here.value && takes_part(i)) left.push_back(i);
  }
  for (auto sleep = kFirstSleep;; sleep = std::min(2 * sleep, kLongestSleep)) {
    const bool ready = core_.freeze(here, repair_, dead_) != FreezeAnswer::kNotYet;
    if (!ask(left, limited)) return false;
    if (ready && left.empty()) return true;
    dtutils::sleep_for(sleep);
  }
}

bool Keeper::ask(std::vector<std::uint16_t>& left, bool limited) {
  const auto freeze = [space = core_.number(), here = core_.here(), repair = repair_](
                          dsfabric::CallContext& call, const std::vector<std::uint16_t>& dead) {
    const auto core = SpaceCore::find(call.fabric, space);
    return core ? core->freeze(here, repair, dead) : FreezeAnswer::kNoSpace;
  };
  dsfabric::SendChannel calls(core_.fabric());
  std::vector<dsfabric::RemoteFuture<FreezeAnswer>> answers;
  for (const std::uint16_t i : left) {
    try {
      answers.push_back(calls.call_return(ThreadId::service_of({i}), freeze, dead_));
    } catch (const dtutils::Error&) {
      // It is asked again. An empty future throws below.
      answers.emplace_back();
    }
  }
  {
    const std::scoped_lock lock(mutex_);
    told_ = round_;
  }
  const auto end = dtutils::Clock::now() + core_.options().lease;
  std::vector<std::uint16_t> not_yet;
  for (std::size_t k = 0; k < left.size(); ++k) {
    const ProcessId process{left[k]};
    FreezeAnswer answer = FreezeAnswer::kNotYet;
    try {
      while (!answers[k].wait_for(kLook)) {
        if (stopped() || failed() != dead_) return false;
        if (limited && dtutils::Clock::now() > end) {
          core_.fabric().fail(process, "it did not answer when the lease of a lock was over");
        }
      }
      answer = answers[k].get();
    } catch (const dtutils::Error&) {
      // It has failed, which the next look shows, or is asked again.
    }
    present_[process.value] = answer != FreezeAnswer::kNoSpace;
    if (answer == FreezeAnswer::kNotYet && takes_part(process.value)) not_yet.push_back(left[k]);
  }
  left = std::move(not_yet);
  return !stopped() && failed() == dead_;
}

bool Keeper::read_all() {
  const std::uint32_t each = core_.options().places;
  const std::uint32_t ranks = core_.fabric().total_threads();
  all_.assign(std::size_t{ranks} * each, Place{});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const dtutils::RemoteMemoryLocator& places = core_.places_of_rank(rank);
    if (!takes_part(places.process)) continue;
    const dtutils::LocalBuffer into =
        buffer_.local(0, static_cast<std::uint32_t>(each * sizeof(Place)));
    if (!core_.fabric().transmitter({places.process}).blocking_read(into, places)) {
      core_.fabric().fail({places.process}, "the places of its locks cannot be read");
      return false;
    }
    std::memcpy(&all_[std::size_t{rank} * each], buffer_.data(), into.length);
  }
  return failed() == dead_;
}

void Keeper::rebuild_all() {
  before_ = all_;
  std::map<std::uint64_t, std::vector<Report>> reports;
  const std::uint32_t each = core_.options().places;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    Place& place = all_[i];
    if (place.home != core_.here().value || place.phase == Phase::kFree ||
        place.phase == Phase::kEntering || place.phase == Phase::kRetired) {
      continue;
    }
    const auto rank = static_cast<std::uint32_t>(i / each);
    const auto slot = static_cast<std::uint32_t>(i % each);
    reports[place.lock].push_back({place_number(rank, slot), &place});
  }
  // Words of locks that only the dead have used.
  for (const std::span<LockWords> words : core_.all_words()) {
    for (LockWords& lock : words) {
      if (dtutils::load_device_word(&lock.word) != 0 ||
          dtutils::load_device_word(&lock.released) != 0) {
        reports[reinterpret_cast<std::uint64_t>(&lock)];
      }
    }
  }
  for (auto& [address, requests] : reports) {
    auto* const memory = reinterpret_cast<LockWords*>(address);
    LockWords words{dtutils::load_device_word(&memory->word),
                    dtutils::load_device_word(&memory->released)};
    if (core_.options().scheme == Scheme::kDslr) {
      rebuild_counters(words, requests);
    } else {
      rebuild_queue(words, requests);
    }
    // Nobody else changes them now: all living processes are frozen, all dead ones cut off.
    dtutils::store_device_word(&memory->word, words.word);
    dtutils::store_device_word(&memory->released, words.released);
  }
}

void Keeper::write_all() {
  const std::uint32_t each = core_.options().places;
  for (std::uint32_t rank = 0; rank < core_.fabric().total_threads(); ++rank) {
    const dtutils::RemoteMemoryLocator& places = core_.places_of_rank(rank);
    if (!takes_part(places.process)) continue;
    dtutils::Transmitter& transmitter = core_.fabric().transmitter({places.process});
    const Place* const now = &all_[std::size_t{rank} * each];
    const Place* const then = &before_[std::size_t{rank} * each];
    std::memcpy(buffer_.data(), now, each * sizeof(Place));
    for (std::uint32_t slot = 0; slot < each; ++slot) {
      if (std::memcmp(&now[slot], &then[slot], sizeof(Place)) == 0) continue;
      // A write that fails is for a process that has failed: the next repair is about it.
      const auto write = [&](std::size_t offset, std::uint32_t size) {
        (void)transmitter.write(buffer_.local(slot * sizeof(Place) + offset, size),
                                places.part(slot * sizeof(Place) + offset, size));
      };
      if (core_.options().scheme == Scheme::kDslr) {
        write(offsetof(Place, before), 2 * sizeof(std::uint32_t));
        continue;
      }
      write(offsetof(Place, next), 2 * sizeof(std::uint64_t));
      write(offsetof(Place, readers), sizeof(Place::readers));
      // Last, because its owner looks at it and then reads the rest.
      if (now[slot].granted != then[slot].granted) {
        write(offsetof(Place, granted), sizeof(std::uint64_t));
      }
    }
    if (!transmitter.flush(kFlushBeforeThaw)) {
      core_.fabric().fail({places.process}, "the places of its locks cannot be written");
    }
  }
}

void Keeper::await_thaw() {
  const auto let_go = [space = core_.number(), from = core_.here()](dsfabric::CallContext& call) {
    const auto core = SpaceCore::find(call.fabric, space);
    return !core || core->keeper().let_go(from);
  };
  dsfabric::SendChannel calls(core_.fabric());
  dtutils::Deadline deadline(core_.fabric().config().leave_timeout);
  for (; core_.frozen().load(std::memory_order_acquire) != 0; dtutils::sleep_for(kLongestSleep)) {
    core_.thaw_from_gone();
    for (const ProcessId home : core_.frozen_by()) {
      try {
        auto result = calls.call_return(ThreadId::service_of(home), let_go);
        while (!result.wait_for(kLook)) {
          if (!deadline.passed()) continue;
          core_.fabric().fail(home, "it has stopped in the middle of a repair of its locks");
        }
        if (result.get()) core_.thaw(home, SpaceCore::kAllRepairs);
      } catch (const dtutils::Error&) {
        // It is gone, which the next look shows.
      }
    }
  }
}

void Keeper::thaw_all() {
  dsfabric::SendChannel calls(core_.fabric());
  const auto tell = [space = core_.number(), here = core_.here(),
                     repair = repair_](dsfabric::CallContext& call) {
    if (const auto core = SpaceCore::find(call.fabric, space)) core->thaw(here, repair);
  };
  for (std::uint16_t i = 0; i < core_.fabric().founders(); ++i) {
    if (i == core_.here().value) continue;
    try {
      (void)calls.call(ThreadId::service_of({i}), tell);
    } catch (const dtutils::Error&) {
      // It is gone, or this process is ending.
    }
  }
  core_.thaw(core_.here(), repair_);
}

}  // namespace locks::detail
