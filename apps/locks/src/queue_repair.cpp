// SPDX-License-Identifier: MIT
// The repair of a queue: who holds the lock, in which order the others stand, and new mailboxes.
#include "queue_repair.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace locks::detail {
namespace {

enum class Stand : std::uint8_t { kGone, kWaiting, kDraining, kHeld, kReleasing };

Stand stand_of(const Place& place) noexcept {
  switch (place.phase) {
    case Phase::kDraining:
      return Stand::kDraining;
    case Phase::kHeld:
      return Stand::kHeld;
    case Phase::kReleasing:
      // Whom an earlier repair has released has nothing any more, though it may not know yet.
      return high(place.next) == kReleasedByHome ? Stand::kGone : Stand::kReleasing;
    case Phase::kWaiting:
      break;
    case Phase::kFree:
    case Phase::kEntering:
    case Phase::kRetired:
      return Stand::kGone;
  }
  if (low(place.granted) != 0) return Stand::kWaiting;
  if (static_cast<Verdict>(high(place.granted)) == Verdict::kAgain) return Stand::kGone;
  if (place.mode == Mode::kExclusive && place.drain != 0) return Stand::kDraining;
  return Stand::kHeld;
}

constexpr std::uint64_t granted_by(bool died) noexcept {
  return pair_word(static_cast<std::uint32_t>(died ? Verdict::kOwnerDied : Verdict::kGranted), 0);
}

/// Whether one that holds the lock has been told that the holder before died, or is about to read
/// it.
bool has_mark(const Place& place) noexcept {
  return place.phase == Phase::kWaiting ? place.granted == granted_by(true) : place.owner_died != 0;
}

class Queue {
 public:
  Queue(LockWords& words, std::vector<Report>& reports) : words_(words) {
    for (const Report& report : reports) {
      const Stand stand = stand_of(*report.place);
      if (stand != Stand::kGone) all_[report.number] = {report.place, stand};
    }
  }

  void rebuild() {
    order();
    build();
  }

 private:
  struct Request {
    Place* place = nullptr;
    Stand stand = Stand::kGone;
    bool exclusive() const noexcept { return place->mode == Mode::kExclusive; }
  };

  Request* waiting(PlaceNumber number) {
    const auto found = all_.find(number);
    if (found == all_.end()) return nullptr;
    const Stand stand = found->second.stand;
    return stand == Stand::kWaiting || stand == Stand::kDraining ? &found->second : nullptr;
  }
  void append(PlaceNumber number) {
    if (placed_.insert(number).second) line_.push_back(number);
  }
  /// The readers that have told this one, then its follower, and so on.
  void follow(PlaceNumber number) {
    for (;;) {
      const Place& place = *all_[number].place;
      for (const PlaceNumber reader : place.readers) {
        const Request* request = waiting(reader);
        if (request != nullptr && !request->exclusive()) append(reader);
      }
      const PlaceNumber next = high(place.next);
      const Request* request = waiting(next);
      if (request == nullptr || !request->exclusive() || placed_.count(next) != 0) return;
      append(next);
      number = next;
    }
  }
  /// Readers that told nobody who lives, and that stood before the request with this `before`.
  void append_readers_of(PlaceNumber before) {
    if (!is_place(before)) return;
    for (const auto& [number, request] : all_) {
      if (request.stand == Stand::kWaiting && !request.exclusive() &&
          request.place->before == before && listed_.count(number) == 0) {
        append(number);
      }
    }
  }
  void begin_at(PlaceNumber head) {
    if (placed_.count(head) != 0) return;
    append_readers_of(all_[head].place->before);
    append(head);
    follow(head);
  }

  void order() {
    std::vector<PlaceNumber> heads;
    std::set<PlaceNumber> followers;
    for (const auto& [number, request] : all_) {
      if (!request.exclusive()) continue;
      if (waiting(high(request.place->next)) != nullptr)
        followers.insert(high(request.place->next));
      for (const PlaceNumber reader : request.place->readers) listed_.insert(reader);
    }
    for (const auto& [number, request] : all_) {
      if (!request.exclusive()) continue;
      if (request.stand == Stand::kHeld || request.stand == Stand::kReleasing) {
        // At most one of each, and not both: who releases has granted nobody.
        (request.stand == Stand::kHeld ? holder_ : releasing_) = number;
      } else if (followers.count(number) == 0) {
        heads.push_back(number);
      }
    }
    if (holder_ != 0) follow(holder_);
    if (releasing_ != 0) follow(releasing_);
    const PlaceNumber tail = high(words_.word);
    const auto leads_to_tail = [&](PlaceNumber number) {
      for (std::size_t steps = 0; steps <= all_.size() && number != 0; ++steps) {
        if (number == tail) return true;
        const auto found = all_.find(number);
        number = found == all_.end() ? 0 : high(found->second.place->next);
      }
      return false;
    };
    for (const PlaceNumber head : heads) {
      if (all_[head].stand == Stand::kDraining) begin_at(head);
    }
    append_lost_readers(tail);
    for (const PlaceNumber head : heads) {
      if (!leads_to_tail(head)) begin_at(head);
    }
    for (const PlaceNumber head : heads) begin_at(head);
    for (const auto& [number, request] : all_) {
      if (waiting(number) != nullptr) append(number);
    }
  }
  /// Readers whose place in the queue nobody knows any more come first; those that followed the
  /// tail come last, with the rest.
  void append_lost_readers(PlaceNumber tail) {
    std::set<PlaceNumber> befores{tail};
    for (const auto& [number, request] : all_) {
      if (request.exclusive()) befores.insert(request.place->before);
    }
    for (const auto& [number, request] : all_) {
      if (request.stand == Stand::kWaiting && !request.exclusive() && listed_.count(number) == 0 &&
          befores.count(request.place->before) == 0) {
        append(number);
      }
    }
  }

  void build() {
    const PlaceNumber tail = high(words_.word);
    std::uint32_t readers = 0;
    bool draining = false;
    bool readers_know = false;
    for (auto& [number, request] : all_) {
      draining = draining || request.stand == Stand::kDraining;
      if (!request.exclusive()) {
        readers += request.stand == Stand::kHeld;
        readers_know |= request.stand == Stand::kHeld && has_mark(*request.place);
        continue;
      }
      request.place->next =
          request.stand == Stand::kReleasing ? pair_word(kReleasedByHome, 0) : std::uint64_t{0};
      std::memset(request.place->readers, 0, sizeof request.place->readers);
    }
    // Only then was the lock in the hands of one that died.
    const bool nobody = holder_ == 0 && releasing_ == 0 && !draining && readers == 0;
    // Who came next had taken the mark from the word, and may have died while it waited for
    // readers.
    bool died = tail == kDied || (nobody && tail != 0) || readers_know;
    PlaceNumber last = holder_;
    std::uint32_t group = 0;
    for (const PlaceNumber number : line_) {
      Request& request = all_[number];
      Place& place = *request.place;
      if (request.exclusive()) {
        if (last != 0) {
          all_[last].place->next = pair_word(number, group);
          place.drain = group;
        } else {
          place.drain = readers;
          if (request.stand == Stand::kWaiting) place.granted = granted_by(died);
          died = false;
        }
        last = number;
        group = 0;
      } else if (last == 0) {
        place.granted = granted_by(died);
        ++readers;
      } else if (group < kReaders) {
        all_[last].place->readers[group++] = number;
      } else {
        place.granted = pair_word(static_cast<std::uint32_t>(Verdict::kAgain), 0);
      }
    }
    words_.word = last != 0 ? pair_word(last, group) : pair_word(died ? kDied : 0, readers);
    words_.released = 0;
  }

  LockWords& words_;
  std::map<PlaceNumber, Request> all_;
  std::set<PlaceNumber> placed_;
  /// Readers that have told somebody who lives.
  std::set<PlaceNumber> listed_;
  std::vector<PlaceNumber> line_;
  PlaceNumber holder_ = 0;
  PlaceNumber releasing_ = 0;
};

}  // namespace

void rebuild_queue(LockWords& words, std::vector<Report>& reports) {
  Queue(words, reports).rebuild();
}

}  // namespace locks::detail
