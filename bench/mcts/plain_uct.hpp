// SPDX-License-Identifier: MIT
// The yardstick: a plain sequential UCT over the same games and playouts, without the framework.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "mcts/game.hpp"

namespace mcts_bench {

/// One thread, one vector of nodes, no locks, no calls: what one writes in an evening, with the
/// children of a node beside each other.
template <mcts::Game G>
class PlainUct {
 public:
  PlainUct(const G& position, std::uint32_t playouts, float exploration, std::uint64_t seed)
      : playouts_(playouts), exploration_(exploration), random_(seed) {
    nodes_.push_back({position, 0, 0, 0});
  }

  void rollout() {
    path_.clear();
    std::uint32_t at = 0;
    for (;;) {
      path_.push_back(at);
      if (nodes_[at].position.outcome() != mcts::Outcome::kOngoing) break;
      if (nodes_[at].children == 0) make_children(at);
      if (nodes_[at].tried < nodes_[at].count) {
        at = expand(at);
        path_.push_back(at);
        break;
      }
      at = best(nodes_[at]);
    }
    give_back(evaluate(nodes_[at].position));
  }
  std::size_t nodes() const { return nodes_.size(); }

 private:
  struct Node {
    G position;
    std::uint32_t children;  // first slot; 0: none yet
    std::uint32_t tried;
    std::uint32_t count;
    std::uint32_t visits = 0;
    /// Of who moved here.
    std::uint32_t points = 0;
  };
  struct Slot {
    float mean = 0;
    float root = 0;  // 1 / sqrt(visits)
    std::uint32_t node = 0;
    mcts::Move move = 0;
  };

  void make_children(std::uint32_t at) {
    std::array<mcts::Move, G::kMaxMoves> moves;
    const std::size_t count = nodes_[at].position.moves(moves);
    if (slots_.empty()) slots_.emplace_back();
    nodes_[at].children = static_cast<std::uint32_t>(slots_.size());
    nodes_[at].count = static_cast<std::uint32_t>(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::swap(moves[i], moves[i + random_.below(static_cast<std::uint32_t>(count - i))]);
      slots_.push_back({0, 0, 0, moves[i]});
    }
  }
  std::uint32_t expand(std::uint32_t at) {
    const std::uint32_t slot = nodes_[at].children + nodes_[at].tried++;
    G next = nodes_[at].position;
    next.apply(slots_[slot].move);
    const auto made = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({next, 0, 0, 0});
    slot_of_.resize(nodes_.size());
    slot_of_[made] = slot;
    slots_[slot].node = made;
    return made;
  }
  std::uint32_t best(const Node& node) const {
    const float factor = exploration_ * std::sqrt(std::log(static_cast<float>(node.visits)));
    const Slot* high = &slots_[node.children];
    float bound = high->mean + factor * high->root;
    for (std::uint32_t i = 1; i < node.count; ++i) {
      const Slot& slot = slots_[node.children + i];
      const float other = slot.mean + factor * slot.root;
      if (other > bound) high = &slot, bound = other;
    }
    return high->node;
  }
  std::uint32_t evaluate(const G& position) {
    const mcts::Outcome over = position.outcome();
    std::uint32_t points = 0;
    for (std::uint32_t i = 0; i < playouts_; ++i) {
      const mcts::Outcome outcome =
          over == mcts::Outcome::kOngoing ? mcts::playout(position, random_) : over;
      points += outcome == mcts::Outcome::kFirst ? 2 : outcome == mcts::Outcome::kDraw ? 1 : 0;
    }
    return points;
  }
  void give_back(std::uint32_t first_points) {
    for (const std::uint32_t at : path_) {
      Node& node = nodes_[at];
      ++node.visits;
      node.points += node.position.player() == 1 ? first_points : 2 * playouts_ - first_points;
      if (at == 0) continue;
      Slot& slot = slots_[slot_of_[at]];
      const float inverse = 1.0F / static_cast<float>(node.visits);
      slot.mean = static_cast<float>(node.points) * inverse / static_cast<float>(2 * playouts_);
      slot.root = std::sqrt(inverse);
    }
  }

  std::uint32_t playouts_;
  float exploration_;
  mcts::Random random_;
  std::vector<Node> nodes_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> slot_of_;
  std::vector<std::uint32_t> path_;
};

}  // namespace mcts_bench
