// SPDX-License-Identifier: MIT
// Where the processes of a simulated job meet, and send each other letters: in the memory of the
// process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bell.hpp"
#include "dsfabric/bootstrap.hpp"
#include "dtutils/simulation.hpp"

namespace simulation {

/// It does what the launcher of a job does elsewhere, by the same contract (dsfabric::Bootstrap).
/// Ranks are numbers of nodes. One thread of the simulation runs at a time, and is one of the rank
/// that a method is told, where there is one.
class Board {
 public:
  Board(dtutils::Simulation& cluster, std::uint32_t nodes);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(places_.size()); }

  /// The first, and the last, that a process does here. One that goes without goodbye has failed.
  void come(std::uint32_t rank);
  void go(std::uint32_t rank) noexcept;

  /// Rank `rank` gives `parts`, one for all or one for each, and gets its part of each.
  std::vector<dsfabric::Bytes> exchange(std::uint32_t rank, std::vector<dsfabric::Bytes> parts,
                                        std::chrono::milliseconds limit);
  /// To all others where `to` is nodes().
  void send(std::uint32_t rank, std::uint32_t to, std::span<const std::byte> bytes);
  std::optional<dsfabric::Bootstrap::Letter> next_letter(std::uint32_t rank) noexcept;
  std::optional<std::uint32_t> next_failed(std::uint32_t rank) noexcept;
  int descriptor(std::uint32_t rank) const noexcept { return places_[rank].bell->fd(); }
  void goodbye(std::uint32_t rank) noexcept;

  /// The process has ended without goodbye, whoever says so: the others are told. In an event, too.
  void fail(std::uint32_t rank);

 private:
  struct News {
    std::uint32_t from;
    /// Of a letter; none: the process has failed.
    std::shared_ptr<const dsfabric::Bytes> bytes;
  };
  struct Place {
    std::optional<Bell> bell;
    enum class State : std::uint8_t { kExpected, kThere, kLeft, kFailed };
    State state = State::kExpected;
    /// Exchanges that it has begun, and what it gave to the last two, which may overlap.
    std::uint64_t exchanges = 0;
    std::vector<dsfabric::Bytes> parts[2];
    /// What others have sent, of which the first `readable` have come, and the rest is on its way.
    std::deque<News> news;
    std::size_t readable = 0;
    bool on_its_way = false;
  };

  void put(Place& to, News news);
  /// All that is on its way has come.
  static void deliver(Place& to) noexcept;
  void ring_all() noexcept;
  void await_all(Place& mine, std::chrono::milliseconds limit);

  dtutils::Simulation& cluster_;
  std::vector<Place> places_;
};

}  // namespace simulation
