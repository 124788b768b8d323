// SPDX-License-Identifier: MIT
// Histories of operations on keys, and a checker that says whether they are linearizable.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "hashtable/options.hpp"

namespace support {

/// One operation of one process. `end` is infinite when it never returned, or threw: then it may
/// have taken place or not.
struct TableEvent {
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t key;
  /// Written, or found.
  std::uint64_t value;
  hashtable::Operation operation;
  hashtable::Status status;
  /// Of a compare_exchange, which is an update.
  std::optional<std::uint64_t> expected = std::nullopt;
};

/// What the processes of a job record, in memory that they share. The clock is that of the host.
struct TableHistory {
  static constexpr std::size_t kProcesses = 4;
  static constexpr std::size_t kEvents = 20'000;
  struct Process {
    std::uint64_t count;
    TableEvent events[kEvents];
  };
  Process processes[kProcesses];

  /// Made before fork(2).
  static TableHistory& make() {
    return *new (mmap(nullptr, sizeof(TableHistory), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0)) TableHistory;
  }
  static std::uint64_t now() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  /// Records that an operation begins; end() completes it. False: there is no room.
  bool begin(std::uint32_t rank, hashtable::Operation operation, std::uint64_t key,
             std::uint64_t value, std::optional<std::uint64_t> expected = std::nullopt) {
    Process& process = processes[rank];
    if (process.count == kEvents) return false;
    process.events[process.count] = {now(),     TableEvent::kNever,        key,     value,
                                     operation, hashtable::Status::kAgain, expected};
    process.count = process.count + 1;
    return true;
  }
  void end(std::uint32_t rank, hashtable::Status status, std::uint64_t value) {
    TableEvent& event = processes[rank].events[processes[rank].count - 1];
    event.status = status;
    event.value = value;
    event.end = now();
  }
  /// Of one key, by process, each in its order.
  std::vector<std::vector<TableEvent>> of_key(std::uint64_t key) const {
    std::vector<std::vector<TableEvent>> all;
    for (const Process& process : processes) {
      auto& mine = all.emplace_back();
      for (std::size_t i = 0; i < process.count; ++i) {
        if (process.events[i].key == key) mine.push_back(process.events[i]);
      }
    }
    return all;
  }
};

/// Wing and Gong's search (1993): is there an order of the operations on one key that respects
/// real time, in which each answers as a map would? A state is how far each process has come, and
/// the value; each is visited once.
class Linearization {
 public:
  explicit Linearization(std::vector<std::vector<TableEvent>> events)
      : events_(std::move(events)) {}

  bool exists() {
    std::vector<State> open{{std::vector<std::size_t>(events_.size(), 0), std::nullopt}};
    while (!open.empty()) {
      const State state = std::move(open.back());
      open.pop_back();
      if (!seen_.insert(state).second) continue;
      if (finished(state)) return true;
      // What comes next began before all that is left has ended.
      std::uint64_t first_end = TableEvent::kNever;
      for (std::size_t i = 0; i < events_.size(); ++i) {
        if (state.at[i] < events_[i].size()) {
          first_end = std::min(first_end, events_[i][state.at[i]].end);
        }
      }
      for (std::size_t i = 0; i < events_.size(); ++i) {
        if (state.at[i] == events_[i].size()) continue;
        const TableEvent& event = events_[i][state.at[i]];
        if (event.begin > first_end) continue;
        State next = state;
        ++next.at[i];
        if (event.end == TableEvent::kNever) open.push_back(next);  // it took no effect
        if (apply(event, next.value)) open.push_back(next);
      }
    }
    return false;
  }

 private:
  struct State {
    std::vector<std::size_t> at;
    std::optional<std::uint64_t> value;
    auto operator<=>(const State&) const = default;
  };

  bool finished(const State& state) const {
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (state.at[i] != events_[i].size()) return false;
    }
    return true;
  }
  /// Whether a map that holds `value` answers so; what it holds then.
  static bool apply(const TableEvent& event, std::optional<std::uint64_t>& value) {
    using enum hashtable::Operation;
    using enum hashtable::Status;
    const bool open = event.end == TableEvent::kNever;
    const bool has = value.has_value();
    switch (event.operation) {
      case kFind:
        return open || (event.status == kDone ? value == event.value : !has);
      case kInsert:
        if (!open && (event.status == kDone) == has) return false;
        if (!has) value = event.value;
        return true;
      case kUpdate:
        if (event.expected && event.status == kDiffers) {
          return value == event.value && value != event.expected;
        }
        if (has && event.expected && value != event.expected) return false;
        if (!open && (event.status == kDone) != has) return false;
        if (has) value = event.value;
        return true;
      case kRemove:
        if (!open && (event.status == kDone) != has) return false;
        value = std::nullopt;
        return true;
      case kInsertOrAssign:
        if (!open && event.status != kDone) return false;
        value = event.value;
        return true;
    }
    return false;
  }

  std::vector<std::vector<TableEvent>> events_;
  std::set<State> seen_;
};

}  // namespace support
