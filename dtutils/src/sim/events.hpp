// SPDX-License-Identifier: MIT
// What is going to happen, by time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <queue>
#include <vector>

namespace dtutils::sim {

/// Nanoseconds since the beginning.
using Time = std::int64_t;
inline constexpr Time kNever = INT64_MAX;
constexpr Time after(Time from, std::chrono::nanoseconds time) noexcept {
  return time.count() < kNever - from ? from + std::max<Time>(time.count(), 0) : kNever;
}

enum class Happening : std::uint8_t {
  /// A thread goes on: its number, and the number of its wait.
  kWake,
  /// Somebody's function runs: its number.
  kAction,
  // All others are of a queue pair: its serial number, and its epoch.
  /// The adapter takes up the next request.
  kIssue,
  /// The first byte of the next request has come to the adapter of the peer.
  kArrive,
  /// The last one is there.
  kLand,
  /// The other half of a torn write lands.
  kRest,
  /// The request that could not be executed is sent again.
  kRetry,
  /// The next acknowledgement, or answer, is back.
  kAnswer,
};

struct Event {
  Time at;
  /// Among events of one time; the lowest first.
  std::uint64_t order;
  Happening what;
  std::uint32_t who;
  std::uint64_t which;
};

class Events {
 public:
  bool empty() const noexcept { return queue_.empty(); }
  void push(const Event& event) { queue_.push(event); }
  Event pop() {
    const Event event = queue_.top();
    queue_.pop();
    return event;
  }

 private:
  struct Later {
    bool operator()(const Event& one, const Event& other) const noexcept {
      return one.at != other.at ? one.at > other.at : one.order > other.order;
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> queue_;
};

}  // namespace dtutils::sim
