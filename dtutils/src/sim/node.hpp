// SPDX-License-Identifier: MIT
// A node: its threads that wait, and its adapter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/baton.hpp"
#include "sim/events.hpp"
#include "sim/impersonation.hpp"

namespace dtutils::sim {

struct Node;

struct Thread {
  std::uint32_t number = 0;
  Node* node = nullptr;
  /// It gives way by one of these: by the kernel, or in the one kernel thread that runs them all.
  Baton baton;
  Impersonated stand;
  enum class State : std::uint8_t { kWaiting, kRunning, kEnded } state = State::kWaiting;
  /// Number of its present wait, and when that ends by itself.
  std::uint64_t wait = 0;
  Time wakes_at = kNever;
  /// When the work before it is done; it does not go on earlier, whoever wakes it.
  Time ready = 0;
  /// What its work has taken since it runs.
  Time ahead = 0;
  /// Since when it finds nothing.
  std::optional<Time> idle_since;
  /// Polls in vain since it waited last.
  unsigned empty_polls = 0;
  /// Its place in Node::idle, if it is there.
  std::optional<std::size_t> idle_place;
  /// It watches descriptors.
  bool watches = false;
  /// The thread whose end it waits for.
  std::optional<std::uint32_t> joins;
  /// Threads that wait for its end.
  std::vector<Thread*> joiners;
  /// For a trace alone.
  struct Shown {
    /// Its line, among those of its node.
    std::uint32_t line = 0;
    /// What it waits for now, since when, and since when it is stopped, too.
    const char* kind = nullptr;
    const char* waits = nullptr;
    Time from = 0;
    std::optional<Time> stopped;
    /// From when to when it has found nothing, which is not written yet.
    std::optional<Time> quiet;
    Time quiet_until = 0;
  } shown;
};

/// The connections that an adapter keeps on chip; the one that was used longest ago goes first.
class ConnectionCache {
 public:
  /// True when it had to be fetched. A capacity of 0 holds all.
  bool misses(std::uint32_t connection, std::size_t capacity) {
    const auto found = places_.find(connection);
    if (found != places_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return false;
    }
    order_.push_front(connection);
    places_[connection] = order_.begin();
    if (capacity == 0 || places_.size() <= capacity) return false;
    places_.erase(order_.back());
    order_.pop_back();
    return true;
  }

 private:
  std::list<std::uint32_t> order_;
  std::unordered_map<std::uint32_t, std::list<std::uint32_t>::iterator> places_;
};

struct Node {
  std::uint32_t number = 0;
  bool crashed = false;
  /// Its threads end now, after the run.
  bool revived = false;
  Time stopped_until = 0;
  unsigned slowness = 1;
  /// Bytes that can still be registered.
  std::size_t memory = std::numeric_limits<std::size_t>::max();
  /// Threads that have found nothing, and those that watch descriptors.
  std::vector<Thread*> idle;
  std::vector<Thread*> watchers;
  /// Threads of a crashed node.
  std::vector<Thread*> parked;
  // Until when parts of its adapter are busy.
  Time issues = 0;
  Time sends = 0;
  Time receives = 0;
  ConnectionCache connections;
  /// Threads that it has had.
  std::uint32_t threads = 0;
};

}  // namespace dtutils::sim
