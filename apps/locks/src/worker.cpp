// SPDX-License-Identifier: MIT
// Worker: places, waits, and what is not on the fast path.
#include "locks/detail/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "dsfabric/peer_failed.hpp"
#include "dsfabric/send_channel.hpp"
#include "dtutils/error.hpp"
#include "dtutils/synchronizer.hpp"
#include "dtutils/wait.hpp"
#include "dtutils/wait_hook.hpp"
#include "keeper.hpp"
#include "space_core.hpp"

namespace locks::detail {
namespace {

/// How often a waiter looks whether the home still takes part.
constexpr std::chrono::milliseconds kLookAtHome{10};
/// Rounds of a pause in which the thread only spins.
constexpr std::uint32_t kSpinRounds = 16;
/// Fruitless looks of who is frozen until it looks whether a home is gone.
constexpr unsigned kLooksAtHomes = 64;
constexpr std::uint32_t kMaxMicroseconds = 64;
constexpr std::chrono::seconds kFlushAtEnd{1};

}  // namespace

Worker::Worker(dsfabric::Thread& self, SpaceCore& core)
    : self_(self),
      core_(core),
      places_(core.places_of(self.id().index)),
      places_key_(core.places_key()),
      frozen_(core.frozen()),
      stepping_(core.stepping_of(self.id().index).flag),
      expedited_(core.expedited()),
      rank_(self.fabric().rank_of(self.id())),
      scheme_(core.options().scheme),
      at_point_(core.options().at_point),
      lease_(core.options().lease.count() == 0 ? std::chrono::nanoseconds::max()
                                               : core.options().lease),
      next_free_(core.options().places, kNoSlot),
      unreachable_(self.fabric().founders()),
      thrown_(core.options().places) {
  for (std::uint32_t slot = core.options().places; slot-- > 0;) {
    next_free_[slot] = free_;
    free_ = slot;
  }
}

Worker::~Worker() {
  // Values may still land in the places.
  for (std::uint16_t i = 0; i < self_.fabric().founders(); ++i) {
    if (!self_.fabric().failed({i})) (void)transmitter({i}).flush(kFlushAtEnd);
  }
}

bool Worker::may_wait() const noexcept {
  return !self_.in_handler() || dtutils::wait_is_put_aside();
}

void Worker::refuse_to_wait() const {
  throw dtutils::Error("SharedMutex", "an inline handler would have to wait for the lock",
                       "use try_lock(), or make the handler a fiber (riutils::in_fiber)");
}

void Worker::retire(Place& place) noexcept {
  place.phase = Phase::kRetired;
  --used_;
}

void Worker::find_free() {
  for (std::uint32_t slot = 0; slot < next_free_.size(); ++slot) {
    Place& place = places_[slot];
    if (place.phase != Phase::kRetired || !core_.settled({place.home})) continue;
    std::memset(&place, 0, sizeof place);
    next_free_[slot] = free_;
    free_ = slot;
  }
  if (free_ == kNoSlot) {
    throw dtutils::Error(fmt::format("worker {}", self_.id()),
                         fmt::format("it holds and awaits {} locks already", next_free_.size()),
                         "raise LockSpaceOptions::places");
  }
}

void Worker::look_for_second(const LockAddress& lock, Mode mode) {
  if (dtutils::wait_is_put_aside()) return;
  for (std::uint32_t slot = 0; slot < next_free_.size(); ++slot) {
    const Place& place = places_[slot];
    if (place.phase != Phase::kHeld || place.by_program == 0 || place.home != lock.memory.process ||
        place.lock != lock.memory.address) {
      continue;
    }
    if (mode == Mode::kShared && place.mode == Mode::kShared) continue;
    throw dtutils::Error("SharedMutex", "this thread holds the lock already, by another object",
                         place.mode == Mode::kShared
                             ? "unlock it first: a shared lock cannot be upgraded"
                             : "unlock it first: the lock is not recursive");
  }
}

void Worker::mark_by_program(Place& place) const noexcept {
  place.by_program = !dtutils::wait_is_put_aside();
}

dsfabric::ProcessId Worker::process_of(PlaceNumber number) const noexcept {
  return {core_.places_of_rank(detail::rank_of(number)).process};
}

dtutils::RemoteMemoryLocator Worker::part_of(PlaceNumber number, std::size_t offset,
                                             std::size_t size) const noexcept {
  return core_.places_of_rank(detail::rank_of(number))
      .part(slot_of(number) * sizeof(Place) + offset, size);
}

void Worker::lose_home(Place& place) {
  const dsfabric::ProcessId home{place.home};
  if (unreachable_[home.value] && place.phase == Phase::kEntering) {
    // Nothing was posted for it.
    give_back(place);
  } else {
    retire(place);
  }
  unreachable_[home.value] = unreachable_[home.value] || transmitter(home).broken();
  const std::string reason = self_.fabric().failure_reason(home);
  throw dsfabric::PeerFailed(
      home, "locking",
      reason.empty() ? "the connection to the home of the lock is broken" : reason);
}

void Worker::throw_left(Place& place) {
  const dsfabric::ProcessId home{place.home};
  give_back(place);
  throw dsfabric::PeerFailed(home, "locking", "its workers have left the space of the lock");
}

void Worker::require_home(Place& place) {
  const dsfabric::ProcessId here = core_.here();
  if (self_.fabric().failed(here)) {
    retire(place);
    throw dsfabric::PeerFailed(here, "locking", self_.fabric().failure_reason(here));
  }
  if (self_.fabric().state({place.home}) != dsfabric::PeerState::kActive) lose_home(place);
}

Verdict Worker::wait_long(Place& place) {
  count_wait();
  auto& granted = *reinterpret_cast<dtutils::Synchronizer*>(&place.granted);
  for (;;) {
    try {
      if (granted.wait_for(kLookAtHome) != dtutils::Synchronizer::Outcome::kTimeout) break;
    } catch (...) {
      keep_exception(place);
    }
    if (!granted.done()) require_home(place);
  }
  return static_cast<Verdict>(high(dtutils::load_device_word(&place.granted)));
}

void Worker::pause(std::uint32_t round) {
  if (round < kSpinRounds) {
    for (std::uint32_t i = 0; i <= round; ++i) dtutils::cpu_pause();
    return;
  }
  dtutils::Synchronizer never(1);
  (void)never.wait_for(std::chrono::microseconds(std::min(round, kMaxMicroseconds)));
  // Such a wait ends before it comes to yield, and the worker whose turn it is may want this core.
  // A fiber has given it to other fibers.
  if (!self_.in_handler()) dtutils::give_way();
}

void Worker::pause(Place& place, std::uint32_t round) {
  try {
    pause(round);
  } catch (...) {
    keep_exception(place);
  }
  require_home(place);
}

void Worker::serve() {
  const dtutils::Synchronizer never(1);
  dtutils::run_wait_hook(never, dtutils::Clock::now());
}

void Worker::keep_exception(Place& place) noexcept {
  std::exception_ptr& kept = thrown_[slot_of_place(place)];
  // The first one counts: a wait can throw only one.
  if (kept) return;
  kept = std::current_exception();
  ++thrown_count_;
}

std::exception_ptr Worker::thrown(const Place& place) noexcept {
  std::exception_ptr kept = std::exchange(thrown_[slot_of_place(place)], nullptr);
  if (kept) --thrown_count_;
  return kept;
}

std::chrono::nanoseconds Worker::lease_now() const noexcept { return core_.lease_now(); }

void Worker::suspect(const Place& place) noexcept {
  const auto tell = [space = core_.number(), lock = place.lock](dsfabric::CallContext& call) {
    if (const auto core = SpaceCore::find(call.fabric, space)) core->keeper().suspect(lock);
  };
  try {
    dsfabric::SendChannel calls(self_.fabric());
    (void)calls.call(dsfabric::ThreadId::service_of({place.home}), tell);
  } catch (...) {
    // What a handler throws while the message waits for room. The next suspicion comes soon.
  }
}

void Worker::wait_unfrozen() noexcept {
  dtutils::Backoff backoff;
  for (;;) {
    stepping_.store(0, std::memory_order_release);
    for (unsigned looks = 1; frozen_.load(std::memory_order_acquire) != 0; ++looks) {
      if (looks % kLooksAtHomes == 0) core_.thaw_from_gone();
      backoff.pause();
    }
    stepping_.exchange(1, std::memory_order_seq_cst);
    if (frozen_.load(std::memory_order_seq_cst) == 0) return;
  }
}

}  // namespace locks::detail
