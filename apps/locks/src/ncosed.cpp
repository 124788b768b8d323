// SPDX-License-Identifier: MIT
// Ncosed: enqueueing, waiting, and handing over.
#include "locks/ncosed.hpp"

#include <cstddef>
#include <utility>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/wait.hpp"

namespace locks {
namespace {

using detail::high;
using detail::is_place;
using detail::kDied;
using detail::low;
using detail::Mode;
using detail::pair_word;
using detail::Phase;
using detail::Place;
using detail::PlaceNumber;
using detail::Point;
using detail::Step;
using detail::Verdict;
using detail::Worker;

/// Shared requests since the last exclusive one, after which a reader enqueues as exclusive, so
/// that the count never runs into the tail.
constexpr std::uint32_t kMaxShared = 1u << 31;

/// Makes the place the tail, within a step; `seen` is what the word may be. The place is held,
/// draining or waiting afterwards. `asks`: whether the caller may wait, when the lock is not free.
void enqueue(Worker& worker, Place& place, const LockAddress& lock, std::uint64_t seen, bool asks) {
  const PlaceNumber me = worker.number_of(place);
  const dtutils::RemoteMemoryLocator word = lock.word();
  for (;;) {
    const std::uint64_t old = worker.compare_and_swap(place, word, seen, pair_word(me, 0));
    if (old == seen) break;
    if (asks && !worker.may_wait()) {
      worker.give_back(place);
      worker.refuse_to_wait();
    }
    seen = old;
  }
  worker.at(Point::kPlaced);
  const PlaceNumber tail = high(seen);
  if (!is_place(tail)) {
    place.owner_died = tail == kDied;
    place.drain = low(seen);
    place.phase = place.drain == 0 ? Phase::kHeld : Phase::kDraining;
  } else {
    place.before = tail;
    place.drain = detail::waiting_readers(low(seen));
    place.phase = Phase::kWaiting;
    worker.write_to(tail, offsetof(Place, next), pair_word(me, low(seen)));
  }
  worker.at(Point::kTold);
}

/// Waits until the readers before have released.
void drain(Worker& worker, Place& place, const LockAddress& lock) {
  for (std::uint32_t round = 0;; ++round) {
    {
      const Step step(worker);
      // The home may have changed place.drain since the last step.
      if (worker.compare_and_swap(place, lock.released(), place.drain, 0) == place.drain) {
        place.phase = Phase::kHeld;
        return;
      }
    }
    if (round == 0) worker.count_wait();
    worker.pause(place, round);
  }
}

/// From the queue to the lock. False: the request must be made again.
bool await(Worker& worker, Place& place, const LockAddress& lock) {
  if (place.phase == Phase::kWaiting) {
    const Verdict verdict = worker.wait(place);
    worker.at(Point::kGranted);
    if (verdict == Verdict::kAgain) {
      place.granted = 1;
      place.phase = Phase::kEntering;
      return false;
    }
    place.owner_died = verdict == Verdict::kOwnerDied;
    if (place.mode == Mode::kShared || place.drain == 0) {
      place.phase = Phase::kHeld;
      return true;
    }
    place.phase = Phase::kDraining;
  }
  if (place.phase == Phase::kDraining) drain(worker, place, lock);
  return true;
}

/// A reader that releases: as long as no exclusive request has come since, the word counts it, and
/// one less is the same as one more in LockWords::released. So the word is zero again after the
/// last of some readers, and the next exclusive request finds it as it expects.
bool take_back(Worker& worker, Place& place, const LockAddress& lock) {
  std::uint64_t seen = pair_word(place.owner_died != 0 ? kDied : 0, place.count + 1);
  for (int tries = 0; tries < 2 && !is_place(high(seen)) && low(seen) != 0; ++tries) {
    const std::uint64_t old = worker.compare_and_swap(place, lock.word(), seen, seen - 1);
    if (old == seen) return true;
    seen = old;
  }
  return false;
}

/// What the word shows of the readers of this place, in a step; true: it does not name the place
/// any more. `readers` is what the word is thought to count, and then what it counts.
bool detach(Worker& worker, Place& place, const LockAddress& lock, std::uint32_t& readers) {
  const PlaceNumber me = worker.number_of(place);
  for (;;) {
    const std::uint64_t expected = pair_word(me, readers);
    const std::uint64_t old = worker.compare_and_swap(
        place, lock.word(), expected, pair_word(0, detail::waiting_readers(readers)));
    if (old == expected) return true;
    if (high(old) != me) return false;
    readers = low(old);
  }
}

/// Grants the lock to those that have told: false when some are still on their way.
bool pass_on(Worker& worker, Place& place, std::uint32_t readers, PlaceNumber follower) {
  readers = detail::waiting_readers(readers);
  for (std::uint32_t i = 0; i < readers; ++i) {
    if (dtutils::load_device_word(&place.readers[i]) == 0) return false;
  }
  worker.at(Point::kReleased);
  constexpr auto kGranted = pair_word(static_cast<std::uint32_t>(Verdict::kGranted), 0);
  for (std::uint32_t i = 0; i < readers; ++i) {
    worker.write_to(place.readers[i], offsetof(Place, granted), kGranted);
    place.readers[i] = 0;
  }
  if (follower != 0) worker.write_to(follower, offsetof(Place, granted), kGranted);
  worker.at(Point::kPassedOn);
  return true;
}

/// One attempt to release, in a step: true when it is done, and the place can be given back.
/// `behind`: nobody is granted the lock before the home has all that was posted to it.
bool try_release(Worker& worker, Place& place, const LockAddress& lock, std::uint32_t& readers,
                 bool& behind) {
  const Step step(worker);
  const std::uint64_t next = dtutils::load_device_word(&place.next);
  // An atomic that follows it on its connection. Where nobody has told, detach() is one.
  if (std::exchange(behind, false) && next != 0) worker.fetch_and_add(place, lock.word(), 0);
  bool done = false;
  if (high(next) == detail::kReleasedByHome) {
    done = true;
  } else if (next != 0) {
    done = pass_on(worker, place, low(next), high(next));
  } else if (place.detached == 1 || (place.detached == 0 && detach(worker, place, lock, readers))) {
    place.detached = 1;
    done = pass_on(worker, place, readers, 0);
  } else {
    place.detached = 2;
  }
  if (done) {
    place.next = 0;
    worker.give_back(place);
  } else {
    place.phase = Phase::kReleasing;
  }
  return done;
}

/// False: the home is gone.
bool release_alone(Worker& worker, Place& place, const LockAddress& lock, bool behind) {
  std::uint32_t readers = 0;
  dtutils::Backoff backoff;
  for (; !try_release(worker, place, lock, readers, behind); backoff.pause()) {
    if (worker.self().fabric().state(lock.home()) == dsfabric::PeerState::kActive) continue;
    worker.retire(place);
    return false;
  }
  return true;
}

void lock_alone(Worker& worker, Place& place, const LockAddress& lock) {
  do {
    const Step step(worker);
    enqueue(worker, place, lock, 0, true);
    if (place.phase == Phase::kHeld) [[likely]]
      return;
  } while (!await(worker, place, lock));
}

void lock_shared(Worker& worker, Place& place, const LockAddress& lock) {
  do {
    const Step step(worker);
    const std::uint64_t old = worker.fetch_and_add(place, lock.word(), 1);
    worker.at(Point::kPlaced);
    const PlaceNumber tail = high(old);
    if (low(old) >= (is_place(tail) ? detail::kReaders : kMaxShared)) [[unlikely]] {
      // Nobody waits for a reader beyond those that fit. One that was granted releases at once.
      if (!is_place(tail)) worker.fetch_and_add(place, lock.released(), 1);
      place.mode = Mode::kExclusive;
      enqueue(worker, place, lock, old + 1, false);
    } else if (!is_place(tail)) {
      place.owner_died = tail == kDied;
      place.count = low(old);
      place.phase = Phase::kHeld;
    } else {
      place.before = tail;
      place.count = low(old);
      place.phase = Phase::kWaiting;
      worker.write_to(tail, offsetof(Place, readers) + low(old) * sizeof(PlaceNumber),
                      worker.number_of(place));
    }
    worker.at(Point::kTold);
    if (place.phase == Phase::kHeld) return;
  } while (!await(worker, place, lock));
}

bool try_lock_alone(Worker& worker, Place& place, const LockAddress& lock) {
  {
    const Step step(worker);
    const PlaceNumber me = worker.number_of(place);
    const std::uint64_t seen = worker.compare_and_swap(place, lock.word(), 0, pair_word(me, 0));
    place.drain = low(seen);
    const auto readers_are_gone = [&] {
      return place.drain == 0 ||
             low(worker.fetch_and_add(place, lock.released(), 0)) == place.drain;
    };
    if (seen != 0) {
      if (is_place(high(seen)) || !readers_are_gone() ||
          worker.compare_and_swap(place, lock.word(), seen, pair_word(me, 0)) != seen) {
        worker.give_back(place);
        return false;
      }
      place.owner_died = high(seen) == kDied;
      // The word may have changed and changed back in between.
      if (!readers_are_gone()) {
        if (worker.compare_and_swap(place, lock.word(), pair_word(me, 0), seen) ==
            pair_word(me, 0)) {
          worker.give_back(place);
          return false;
        }
        // Somebody stands behind this place already.
        place.phase = Phase::kDraining;
      } else if (place.drain != 0) {
        worker.fetch_and_add(place, lock.released(), 0 - place.drain);
      }
    }
    if (place.phase != Phase::kDraining) place.phase = Phase::kHeld;
  }
  if (place.phase == Phase::kDraining) drain(worker, place, lock);
  return true;
}

bool try_lock_shared(Worker& worker, Place& place, const LockAddress& lock) {
  const Step step(worker);
  std::uint64_t seen = 0;
  for (;;) {
    if (is_place(high(seen)) || low(seen) >= kMaxShared) {
      worker.give_back(place);
      return false;
    }
    const std::uint64_t old = worker.compare_and_swap(place, lock.word(), seen, seen + 1);
    if (old == seen) break;
    seen = old;
  }
  place.owner_died = high(seen) == kDied;
  place.count = low(seen);
  place.phase = Phase::kHeld;
  return true;
}

}  // namespace

void Ncosed::lock(Worker& worker, Place& place, const LockAddress& lock) {
  place.mode == Mode::kShared ? lock_shared(worker, place, lock) : lock_alone(worker, place, lock);
}

bool Ncosed::try_lock(Worker& worker, Place& place, const LockAddress& lock) {
  return place.mode == Mode::kShared ? try_lock_shared(worker, place, lock)
                                     : try_lock_alone(worker, place, lock);
}

void Ncosed::unlock(Worker& worker, Place& place, const LockAddress& lock) noexcept try {
  worker.at(Point::kReleasing);
  if (place.mode == Mode::kExclusive) return (void)release_alone(worker, place, lock, false);
  const Step step(worker);
  if (!take_back(worker, place, lock)) worker.post_add(place, lock.released(), 1);
  worker.at(Point::kReleased);
  worker.give_back(place);
} catch (const dsfabric::PeerFailed&) {
  // The home is gone, and the lock with it. The place was retired.
}

bool Ncosed::unlock_behind(Worker& worker, Place& place, const LockAddress& lock) noexcept try {
  worker.at(Point::kReleasing);
  return release_alone(worker, place, lock, true);
} catch (const dsfabric::PeerFailed&) {
  return false;
}

}  // namespace locks
