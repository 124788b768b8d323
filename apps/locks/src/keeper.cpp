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

/// Between two questions to a process that is not ready yet: soon at first, and then after twice as
/// long each time, since a step may wait for a home that does not answer any more.
class Questions {
 public:
  void pause() noexcept {
    if (++asked_ <= kSoon) return backoff_.pause();
    dtutils::sleep_for(sleep_);
    sleep_ = std::min(2 * sleep_, kLongestSleep);
  }

 private:
  static constexpr unsigned kSoon = 16;
  static constexpr std::chrono::nanoseconds kLongestSleep = std::chrono::milliseconds(1);
  dtutils::Backoff backoff_;
  unsigned asked_ = 0;
  std::chrono::nanoseconds sleep_ = std::chrono::microseconds(2);
};

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

void Keeper::wake() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    ++wanted_;
  }
  changed_.wake();
}

void Keeper::suspect(std::uint64_t lock) {
  const auto word = dtutils::load_device_word(reinterpret_cast<const std::uint64_t*>(lock));
  const std::chrono::nanoseconds now = core_.lease_now();
  const std::scoped_lock guard(mutex_);
  const auto [at, added] = suspicions_.try_emplace(lock, Suspicion{word, now});
  Suspicion& suspicion = at->second;
  // A clock that was set back begins the lease again.
  if (added || suspicion.word != word || now < suspicion.since) {
    suspicion = {word, now};
    return;
  }
  if (now - suspicion.since < core_.options().lease) return;
  suspicions_.clear();
  lease_over_ = true;
  ++wanted_;
  changed_.wake();
}

bool Keeper::take_wish(bool& limited) {
  const std::scoped_lock lock(mutex_);
  limited = std::exchange(lease_over_, false);
  repairs_now_ = std::exchange(wanted_, 0) != 0;
  return repairs_now_;
}

bool Keeper::idle() {
  const std::scoped_lock lock(mutex_);
  return !thread_.joinable() || (wanted_ == 0 && !repairs_now_);
}

void Keeper::run() {
  for (;;) {
    // Before the look: who wishes for something after it wakes the sleep that follows.
    changed_.clear();
    if (stopped()) return;
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
  bool complete = false;
  while (!complete && !stopped()) {
    dead_ = failed();
    present_.assign(core_.fabric().founders(), true);
    if (!freeze_all(limited)) continue;
    if (core_.options().scheme == Scheme::kSrsl) {
      core_.server().remove_dead();
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
  thaw_all();
}

bool Keeper::freeze_all(bool limited) {
  const ProcessId here = core_.here();
  for (Questions own; core_.freeze(here, dead_) == FreezeAnswer::kNotYet; own.pause()) {
    if (stopped()) return false;
  }
  const auto ask = [space = core_.number(), here](dsfabric::CallContext& call,
                                                  const std::vector<std::uint16_t>& dead) {
    const auto core = SpaceCore::find(call.fabric, space);
    return core ? core->freeze(here, dead) : FreezeAnswer::kNoSpace;
  };
  dsfabric::SendChannel calls(core_.fabric());
  for (std::uint16_t i = 0; i < core_.fabric().founders(); ++i) {
    Questions questions;
    while (i != here.value && takes_part(i)) {
      if (stopped() || failed() != dead_) return false;
      FreezeAnswer answer = FreezeAnswer::kNotYet;
      try {
        auto result = calls.call_return(ThreadId::service_of({i}), ask, dead_);
        const auto end = dtutils::Clock::now() + core_.options().lease;
        while (!result.wait_for(kLook)) {
          if (stopped()) return false;
          if (limited && dtutils::Clock::now() > end) {
            core_.fabric().fail({i}, "it did not answer when the lease of a lock was over");
          }
        }
        answer = result.get();
      } catch (const dtutils::Error&) {
        // It has failed, which the next look shows.
      }
      present_[i] = answer != FreezeAnswer::kNoSpace;
      if (answer == FreezeAnswer::kReady) break;
      questions.pause();
    }
  }
  return failed() == dead_;
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
    (void)transmitter.flush(kFlushBeforeThaw);
  }
}

void Keeper::thaw_all() {
  dsfabric::SendChannel calls(core_.fabric());
  const auto tell = [space = core_.number(), here = core_.here()](dsfabric::CallContext& call) {
    if (const auto core = SpaceCore::find(call.fabric, space)) core->thaw(here);
  };
  for (std::uint16_t i = 0; i < core_.fabric().founders(); ++i) {
    if (i == core_.here().value) continue;
    try {
      (void)calls.call(ThreadId::service_of({i}), tell);
    } catch (const dtutils::Error&) {
      // It is gone, or this process is ending.
    }
  }
  core_.thaw(core_.here());
}

}  // namespace locks::detail
