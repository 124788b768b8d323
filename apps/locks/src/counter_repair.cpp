// SPDX-License-Identifier: MIT
// The repair of counters: the living take their places again, from zero.
#include "counter_repair.hpp"

#include <algorithm>

#include "counters.hpp"

namespace locks::detail {

void rebuild_counters(LockWords& words, std::vector<Report>& reports) {
  const Counters before{words.word};
  std::vector<Place*> living;
  bool held = false;
  std::uint32_t exclusive = 0;
  for (const Report& report : reports) {
    Place& place = *report.place;
    if (place.phase != Phase::kHeld && place.phase != Phase::kWaiting) continue;
    const bool turn = place.before == before.served_exclusive() &&
                      (place.mode == Mode::kShared || place.count == before.served_shared());
    held = held || place.phase == Phase::kHeld || turn;
    exclusive += place.mode == Mode::kExclusive;
    living.push_back(&place);
  }
  // Requests came in the order of the sum of the counters that they found.
  std::sort(living.begin(), living.end(), [](const Place* one, const Place* other) {
    return one->before + one->count < other->before + other->count;
  });
  // A place that was taken exclusively and not served belongs to a living one, or to one that died.
  const bool died_in_queue = before.next_exclusive() - before.served_exclusive() > exclusive;
  const bool died = before.died() || (!held && died_in_queue);
  Counters now{died ? Counters::kDiedBit : std::uint64_t{0}};
  for (Place* place : living) {
    place->before = now.next_exclusive();
    place->count = now.next_shared();
    now.word += place->mode == Mode::kExclusive ? Counters::kOneExclusive : Counters::kOneShared;
  }
  words.word = now.word;
  words.released = 0;
}

}  // namespace locks::detail
