// SPDX-License-Identifier: MIT
// Simulations: the playouts of one leaf, and the leaves that wait for theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mcts/game.hpp"
#include "mcts/link.hpp"
#include "mcts/owners.hpp"
#include "mcts/settings.hpp"
#include "mcts/tree.hpp"

namespace mcts {

/// What a rollout brings back: points of player 0 (2 for a won playout), and who wins the position
/// for sure.
struct Result {
  std::uint16_t points : 14;
  std::uint16_t decided : 2;
};
static_assert(sizeof(Result) == 2);

/// A leaf to simulate, and where its result goes.
template <Game G>
struct Job {
  G position = G();
  ParentRef parent = ParentRef::of_root();
  /// Of the node that was created by call for this position; pending: its parent knows it.
  Link link = Link::pending();
};

/// Owner thread only.
template <Game G>
class Simulator {
 public:
  using OwnersHere = typename OwnersOf<G>::Type;

  /// At most `max_jobs` jobs will wait at once. Setup only.
  void begin(const Settings& settings, bool learns, std::uint32_t max_jobs, std::uint32_t rank) {
    playouts_ = settings.playouts;
    learns_ = learns;
    random_ = Random(settings.seed, rank);
    jobs_.assign(max_jobs, {});
    first_ = waiting_ = 0;
  }
  Random& random() noexcept { return random_; }

  std::size_t waiting() const noexcept { return waiting_; }
  /// False: too many wait.
  bool push(const Job<G>& job) noexcept {
    if (waiting_ == jobs_.size()) return false;
    std::size_t at = first_ + waiting_++;
    if (at >= jobs_.size()) at -= jobs_.size();
    jobs_[at] = job;
    return true;
  }
  /// The one that waits longest; some must wait.
  Job<G> pop() noexcept {
    const Job<G> job = jobs_[first_];
    first_ = first_ + 1 == jobs_.size() ? 0 : first_ + 1;
    --waiting_;
    return job;
  }

  /// Playouts from an ongoing position: points of player 0. Adds to `owners` when the search learns
  /// from them.
  std::uint32_t simulate(const G& position, OwnersHere& owners) noexcept {
    std::uint32_t points = 0;
    if constexpr (HasOwners<G>) {
      if (learns_) {
        MoveSet<G> first{};
        for (std::uint32_t i = 0; i < playouts_; ++i) {
          const Outcome outcome = position.playout(random_, first);
          points += points_of(outcome);
          owners.add(first, outcome == Outcome::kFirst);
        }
        return points;
      }
    }
    for (std::uint32_t i = 0; i < playouts_; ++i) points += points_of(playout(position, random_));
    return points;
  }
  /// Points of a leaf where the game is over: all playouts end alike.
  std::uint32_t all_end(Outcome outcome) const noexcept { return playouts_ * points_of(outcome); }

 private:
  static std::uint32_t points_of(Outcome outcome) noexcept {
    return outcome == Outcome::kFirst ? 2 : outcome == Outcome::kDraw ? 1 : 0;
  }

  std::uint32_t playouts_ = 1;
  bool learns_ = false;
  Random random_{0};
  std::vector<Job<G>> jobs_;
  std::size_t first_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace mcts
