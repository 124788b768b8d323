// SPDX-License-Identifier: MIT
// The way up within a process: where it ends, what it counts, and how far proofs go.
#include "mcts/backpropagate.hpp"

#include "games/hex.hpp"
#include "support/catch.hpp"

using namespace mcts;
using games::Hex11;

namespace {

/// Root, its child 0, and that child's child 0, on a board of 2 x 2; owned by ranks 0, 1 and 1.
struct Line {
  Line() {
    ParentRef parent = ParentRef::of_root();
    Hex11 position(2);
    for (std::uint16_t i = 0; i < 3; ++i) {
      const std::uint16_t owner = i == 0 ? 0 : 1;
      nodes[i] = tree.make_node(slab, position, parent, owner, Outcome::kOngoing);
      children[i] = tree.children_of(*nodes[i], 2, slab, false, random);
      children[i]->visit(0, policy, slab);
      position.apply(children[i]->move(0));
      parent = {{tree.cell_of(*nodes[i]), owner}, 0};
    }
    bottom = parent;
  }
  /// Points of player 0, and who has won for sure.
  Arrival climb_from(ParentRef from, std::uint16_t points, Outcome decided, int nearest = 0) {
    const Result result{points, static_cast<std::uint16_t>(static_cast<unsigned>(decided) & 3)};
    return backpropagate<Hex11>(tree, {from, result}, nullptr, 2, policy,
                                [=](std::uint16_t rank) { return rank >= nearest; });
  }

  Tree<Hex11> tree{1 << 20};
  Slab slab{tree.arena()};
  Random random{3};
  Policy policy = Policy::of(Settings{.playouts = 1}, false);
  Node<Hex11>* nodes[3];
  Children* children[3];
  ParentRef bottom;
};

}  // namespace

TEST_CASE("points_reach_the_root_each_for_who_moves_there") {
  Line line;
  CHECK(line.climb_from(line.bottom, 2, Outcome::kOngoing).to.is_nobody());
  CHECK(line.children[2]->tally(0).points == 2);
  CHECK(line.children[1]->tally(0).points == 0);
  CHECK(line.children[0]->tally(0).points == 2);
}

TEST_CASE("the_way_up_ends_where_a_call_is_needed") {
  Line line;
  const Arrival end = line.climb_from(line.bottom, 2, Outcome::kOngoing, 1);
  CHECK_FALSE(end.to.is_nobody());
  CHECK(end.to.node == NodeRef{line.tree.cell_of(*line.nodes[0]), 0});
  CHECK(end.result.points == 2);
  CHECK(line.children[1]->tally(0).points == 0);
  CHECK(line.children[0]->tally(0).points == 0);
  CHECK(line.climb_from(end.to, end.result.points, Outcome::kOngoing).to.is_nobody());
  CHECK(line.children[0]->tally(0).points == 2);
}

TEST_CASE("a_win_decides_its_parent_and_a_loss_only_as_the_last") {
  Line line;
  // Player 0 moves at the bottom and wins: the move to there is lost for player 1, who has others.
  const Arrival end = line.climb_from(line.bottom, 2, Outcome::kFirst);
  CHECK(line.children[2]->tally(0).proof == Proof::kWin);
  CHECK(line.children[1]->tally(0).proof == Proof::kLoss);
  CHECK(line.children[0]->tally(0).proof == Proof::kNone);
  CHECK(static_cast<Outcome>(end.result.decided) == Outcome::kOngoing);
}
