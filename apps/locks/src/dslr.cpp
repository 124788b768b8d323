// SPDX-License-Identifier: MIT
// Dslr: taking a place, reading until it is served, and resetting the counters.
#include "locks/dslr.hpp"

#include <algorithm>
#include <utility>

#include "counters.hpp"

namespace locks {
namespace {

using detail::Counters;
using detail::Mode;
using detail::Phase;
using detail::Place;
using detail::Point;
using detail::Step;
using detail::Worker;

std::uint64_t addend_of(Mode mode) noexcept {
  return mode == Mode::kExclusive ? Counters::kOneExclusive : Counters::kOneShared;
}

/// Whether it is the turn of the place; then, within the same step, it holds the lock.
bool take_turn(Worker& worker, Place& place, const LockAddress& lock, Counters now) {
  const bool turn = now.served_exclusive() == place.before &&
                    (place.mode == Mode::kShared || now.served_shared() == place.count);
  if (!turn) return false;
  place.owner_died = now.died();
  if (now.died() && place.mode == Mode::kExclusive) {
    worker.fetch_and_add(place, lock.word(), 0 - Counters::kDiedBit);
  }
  place.phase = Phase::kHeld;
  return true;
}

/// Requests before this one, about.
std::uint32_t distance(const Place& place, Counters now) noexcept {
  const std::uint32_t exclusive = place.before - now.served_exclusive();
  if (place.mode == Mode::kShared) return exclusive;
  return exclusive + std::max(place.count, now.served_shared()) - now.served_shared();
}

void await_turn(Worker& worker, Place& place, const LockAddress& lock) {
  std::uint64_t last = 0;
  std::chrono::nanoseconds still_since{0};
  bool counted = false;
  for (std::uint32_t round = 0;;) {
    Counters now;
    {
      const Step step(worker);
      now = Counters{worker.fetch_and_add(place, lock.word(), 0)};
      if (take_turn(worker, place, lock, now)) break;
    }
    if (now.word != last) {
      last = now.word;
      round = 0;
      still_since = worker.lease_now();
    } else if (worker.lease_now() - still_since > worker.lease()) {
      worker.suspect(place);
      still_since = worker.lease_now();
    }
    if (!std::exchange(counted, true)) worker.count_wait();
    worker.pause(place, std::min(distance(place, now) + round, 64u));
    ++round;
  }
  worker.at(Point::kGranted);
}

/// Waits until the counters can be set to zero and somebody has done it.
void await_reset(Worker& worker, Place& place, const LockAddress& lock) {
  for (std::uint32_t round = 0;; ++round) {
    {
      const Step step(worker);
      const Counters now{worker.fetch_and_add(place, lock.word(), 0)};
      if (!now.full()) return;
      if (now.all_served()) {
        worker.compare_and_swap(place, lock.word(), now.word, now.reset());
        return;
      }
    }
    worker.pause(place, round);
  }
}

/// Whether a request that came now would have its turn at once.
bool admits(Counters now, Mode mode) noexcept {
  return mode == Mode::kExclusive ? now.all_served()
                                  : now.served_exclusive() == now.next_exclusive();
}

}  // namespace

void Dslr::lock(Worker& worker, Place& place, const LockAddress& lock) {
  for (;;) {
    {
      const Step step(worker);
      const Counters then{worker.fetch_and_add(place, lock.word(), addend_of(place.mode))};
      if (!then.full()) [[likely]] {
        place.before = then.next_exclusive();
        place.count = then.next_shared();
        place.phase = Phase::kWaiting;
        worker.at(Point::kPlaced);
        if (take_turn(worker, place, lock, then)) [[likely]]
          return;
        worker.at(Point::kTold);
        break;
      }
      worker.fetch_and_add(place, lock.word(), 0 - addend_of(place.mode));
    }
    await_reset(worker, place, lock);
  }
  await_turn(worker, place, lock);
}

bool Dslr::try_lock(Worker& worker, Place& place, const LockAddress& lock) {
  const Step step(worker);
  Counters seen{worker.fetch_and_add(place, lock.word(), 0)};
  for (;;) {
    if (seen.full() && seen.all_served()) {
      const std::uint64_t empty = seen.reset();
      const std::uint64_t old = worker.compare_and_swap(place, lock.word(), seen.word, empty);
      seen.word = old == seen.word ? empty : old;
      continue;
    }
    if (seen.full() || !admits(seen, place.mode)) {
      worker.give_back(place);
      return false;
    }
    const std::uint64_t old =
        worker.compare_and_swap(place, lock.word(), seen.word, seen.word + addend_of(place.mode));
    if (old == seen.word) break;
    seen.word = old;
  }
  place.before = seen.next_exclusive();
  place.count = seen.next_shared();
  return take_turn(worker, place, lock, seen);
}

void Dslr::unlock(Worker& worker, Place& place, const LockAddress& lock) noexcept {
  worker.at(Point::kReleasing);
  const Step step(worker);
  worker.post_add(
      place, lock.word(),
      place.mode == Mode::kExclusive ? Counters::kOneExclusiveServed : Counters::kOneSharedServed);
  worker.at(Point::kReleased);
  worker.give_back(place);
}

}  // namespace locks
