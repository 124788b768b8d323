// SPDX-License-Identifier: MIT
// Links, blocks of children and the arena, one at a time and under threads.
#include <array>
#include <atomic>
#include <set>
#include <thread>

#include "games/hex.hpp"
#include "mcts/arena.hpp"
#include "mcts/link.hpp"
#include "mcts/support/block.hpp"
#include "mcts/tree.hpp"
#include "support/catch.hpp"
#include "support/threads.hpp"

using namespace mcts;
using support::Block;

namespace {

/// One playout a visit, 2 points for a win.
Policy policy_of(float exploration, float rave = 0) {
  return {.exploration = exploration, .rave_playouts = rave, .rave = rave};
}
const Policy kPlain = policy_of(0);

}  // namespace

TEST_CASE("links_carry_a_node_or_what_waits_for_it") {
  const NodeRef at{0xfffffffe, 0xfffe};
  CHECK(Link::node(at).at() == at);
  CHECK(Link::node(at).is_node());
  CHECK_FALSE(Link::node(at).is_pending());
  CHECK_FALSE(Link::none().is_node());
  CHECK_FALSE(Link::none().is_pending());
  CHECK(Link::pending().is_pending());
  CHECK(Link::pending().waiting() == 0);
}

TEST_CASE("children_come_in_random_order_each_once") {
  Block block(50);
  std::set<Move> seen;
  bool in_order = true;
  for (std::uint32_t i = 0; i < 50; ++i) {
    const auto [child, visits] = block.select(kPlain, i + 1);
    CHECK(child == i);
    CHECK(visits == 1);
    seen.insert(block.children->move(i));
    in_order = in_order && block.children->move(i) == i;
  }
  CHECK(seen.size() == 50);
  CHECK_FALSE(in_order);
  CHECK(block.select(kPlain, 51).visits == 2);
}

TEST_CASE("best_child_has_the_highest_bound") {
  Block block(7);
  Children& children = *block.children;
  for (std::uint32_t i = 0; i < 7; ++i) {
    for (std::uint32_t visit = 0; visit < 10; ++visit) block.visit(i, kPlain);
    children.record(i, i == 5 ? 15 : 10, Proof::kNone, kPlain);
  }
  CHECK(children.best(policy_of(0.5F), 70) == 5);
  // Visits without points lower it: the virtual loss.
  for (int i = 0; i < 20; ++i) block.visit(5, kPlain);
  CHECK(children.best(policy_of(0.1F), 90) != 5);
  CHECK(children.tally(5).visits == 30);
  CHECK(children.tally(5).points == 15);
}

TEST_CASE("a_child_of_few_visits_is_explored") {
  Block block(3);
  Children& children = *block.children;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const int visits = i == 1 ? 1 : 1000;
    for (int visit = 0; visit < visits; ++visit) block.visit(i, kPlain);
    children.record(i, static_cast<std::uint32_t>(visits), Proof::kNone, kPlain);
  }
  CHECK(children.best(policy_of(1), 2001) == 1);
  CHECK(children.best(policy_of(0), 2001) == 0);
}

TEST_CASE("a_block_that_learns_prefers_moves_that_won_when_made_later") {
  Block block(8, true);
  Children& children = *block.children;
  std::array<std::uint64_t, 8> made;
  for (std::uint32_t move = 0; move < 8; ++move) {
    made[move] = Made{10, children.move(5) == move ? 9u : 4u}.bits();
  }
  children.learn(made, 0);
  CHECK(children.made_of(5).times == 10);
  CHECK(children.made_of(5).wins == 9);
  CHECK(children.made_of(0).times == 0);  // the one that was chosen: its visit counts instead
  const Policy policy = policy_of(0, 20);
  CHECK(children.best(policy, 1) == 5);
  CHECK(block.select(policy, 1).visits == 1);
  CHECK(children.made_of(5).times == 11);
  // Its own visits weigh more than what was learned, in the end.
  for (int i = 0; i < 200; ++i) {
    block.visit(5, policy);
    children.record(5, i % 4 == 0 ? 2 : 0, Proof::kNone, policy);
  }
  CHECK(children.best(policy, 201) != 5);
  CHECK(children.tally(5).visits == 201);
  CHECK(children.tally(5).points == 100);
}

TEST_CASE("owners_tell_for_both_players_how_moves_fared") {
  Owners<games::Hex11> owners;
  mcts::MoveSet<games::Hex11> first{};
  first[0] = 1;
  first[1] = std::uint64_t{1} << 36;  // move 100
  owners.add(first, true);
  first[0] = 3;
  owners.add(first, false);
  const auto check = [&](int player, Move move, std::uint32_t times, std::uint32_t wins) {
    INFO("player " << player << ", move " << move);
    CHECK(owners.made(player, move).times == times);
    CHECK(owners.made(player, move).wins == wins);
    const MadeTable<games::Hex11> table(owners, player);
    CHECK(table[move] == Made{times, wins}.bits());
  };
  check(0, 0, 2, 1);
  check(0, 1, 1, 0);
  check(0, 2, 0, 0);
  check(0, 100, 2, 1);
  check(1, 0, 0, 0);
  check(1, 1, 1, 0);
  check(1, 2, 2, 1);
  // More than fits is left out.
  for (std::uint32_t i = 0; i < 2 * Owners<games::Hex11>::kMax; ++i) owners.add(first, true);
  CHECK(owners.made(0, 0).times == Owners<games::Hex11>::kMax);
}

TEST_CASE("proofs_decide_and_are_told_once") {
  Block block(3);
  Children& children = *block.children;
  for (std::uint32_t i = 0; i < 3; ++i) block.visit(i, kPlain);
  CHECK_FALSE(children.record(0, 2, Proof::kLoss, kPlain));
  CHECK_FALSE(children.record(0, 0, Proof::kLoss, kPlain));  // the same child again
  CHECK(children.tally(0).proof == Proof::kLoss);
  CHECK(children.best(policy_of(10), 3) != 0);
  CHECK_FALSE(children.record(1, 0, Proof::kLoss, kPlain));
  CHECK(children.best(policy_of(0), 3) == 2);
  CHECK(children.record(2, 0, Proof::kLoss, kPlain));
  CHECK_FALSE(children.record(2, 0, Proof::kLoss, kPlain));
  CHECK(children.tally(0).points == 2);
  Block other(2);
  other.visit(0, kPlain);
  other.visit(1, kPlain);
  other.children->record(0, 2, Proof::kNone, kPlain);
  CHECK_FALSE(other.children->record(1, 0, Proof::kWin, kPlain));
  CHECK(other.children->best(policy_of(0), 2) == 1);
}

TEST_CASE("deferred_selections_are_handed_over_exactly_once") {
  constexpr int kThreads = 4;
  constexpr int kTries = 2000;
  for (int round = 0; round < 20; ++round) {
    Block block(1);
    block.visit(0, kPlain);
    std::atomic<std::uint64_t> went_on{0}, waited{0};
    std::atomic<std::uint64_t> handed_over{0};
    support::Threads threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.start([&] {
        for (int i = 0; i < kTries; ++i) {
          (block.children->defer(0).is_pending() ? waited : went_on)++;
        }
      });
    }
    threads.start([&] { handed_over = block.children->resolve(0, Link::node({1, 0})); });
    threads.join();
    CHECK(waited == handed_over);
    CHECK(waited + went_on == kThreads * kTries);
    CHECK(block.children->link(0).is_node());
  }
}

TEST_CASE("tallies_of_many_threads_add_up") {
  for (const bool learns : {false, true}) {
    Block block(20, learns);
    support::Threads threads;
    for (int t = 0; t < 4; ++t) {
      threads.start([&] {
        Slab slab(block.arena);  // all try to make the same groups at once
        for (std::uint32_t i = 0; i < 8000; ++i) {
          block.children->visit(i % 20, kPlain, slab);
          block.children->record(i % 20, i % 3, Proof::kNone, kPlain);
        }
      });
    }
    threads.join();
    std::uint32_t visits = 0, points = 0;
    for (std::uint32_t i = 0; i < 20; ++i) {
      visits += block.children->tally(i).visits;
      points += block.children->tally(i).points;
    }
    CHECK(visits == 32000);
    CHECK(points == 4 * 7998 + 4);  // 0, 1, 2 again and again; the last two are 0 and 1
  }
}

TEST_CASE("without_memory_children_that_have_some_are_selected") {
  for (const bool learns : {false, true}) {
    Block block(40, learns, 1);
    const Policy policy = policy_of(0.1F, learns ? 20.0F : 0.0F);
    REQUIRE(block.visit(9, policy) == 1);  // children 8 to 15 have memory
    block.children->record(9, 1, Proof::kNone, policy);
    while (block.slab.take(kCell) != nullptr) {
    }
    CHECK(block.visit(30, policy) == 0);
    CHECK(block.children->tally(30).visits == 0);
    for (std::uint32_t i = 0; i < 100; ++i) {
      const auto [child, visits] = block.select(policy, i + 2);
      REQUIRE(child / ChildGroup::kSize == 1);
      REQUIRE(visits != 0);
    }
  }
}

TEST_CASE("without_any_memory_no_child_is_selected") {
  Block block(40, true, 1);
  while (block.slab.take(kCell) != nullptr) {
  }
  CHECK(block.select(policy_of(0, 20), 2).visits == 0);
}

TEST_CASE("children_are_put_off_as_memory_runs_out") {
  constexpr std::size_t kSlabs = 16;
  Tree<games::Hex11> tree(kSlabs * Arena::kSlab);
  Slab slab(tree.arena());
  Random random(1);
  const games::Hex11 position(11);
  const auto node = [&](ParentRef parent) {
    return tree.make_node(slab, position, parent, 0, Outcome::kOngoing);
  };
  const auto fill_to = [&](std::size_t slabs) {
    while (tree.arena().used() < slabs * Arena::kSlab) tree.arena().slab();
  };
  // Fewest visits at which a new node gets children, as a power of two; 0: whatever its visits.
  const auto first = [&](ParentRef parent) {
    for (std::uint32_t visits = 1; visits <= 4096; visits *= 2) {
      if (tree.children_of(*node(parent), visits, slab, false, random) != nullptr) return visits;
    }
    return 0U;
  };
  const ParentRef below{{0, 0}, 0};
  CHECK(first(below) == 2);
  fill_to(kSlabs / 2);
  CHECK(first(below) == 2);
  std::uint32_t last = 2;
  for (std::size_t slabs = kSlabs / 2 + 1; slabs < kSlabs; ++slabs) {
    fill_to(slabs);
    const std::uint32_t now = first(below);
    CHECK(now == 2 * last);
    last = now;
  }
  // The root gets them at once, as long as there is room.
  Node<games::Hex11>* const root = node(ParentRef::of_root());
  Node<games::Hex11>* const other = node(ParentRef::of_root());
  CHECK(tree.children_of(*root, 1, slab, false, random) != nullptr);
  while (slab.take(kCell) != nullptr) {
  }
  CHECK(tree.children_of(*other, 1, slab, false, random) == nullptr);
  CHECK(tree.children_of(*root, 1, slab, false, random) != nullptr);
}

TEST_CASE("the_arena_gives_no_more_than_its_limit") {
  Arena arena(3 * Arena::kSlab);
  Slab one(arena), other(arena);
  std::set<void*> seen;
  std::size_t taken = 0;
  for (Slab* slab : {&one, &other}) {
    while (void* cell = slab->take(40)) {
      CHECK(seen.insert(cell).second);
      ++taken;
    }
  }
  CHECK(taken == 3 * Arena::kSlab / kCell);
  CHECK(arena.used() == arena.limit());
  arena.reset();
  one.forget();
  void* const again = one.take(kCell);
  REQUIRE(again != nullptr);
  CHECK(arena.at(arena.cell_of(again)) == again);
  one.undo(kCell);
  CHECK(one.take(kCell) == again);
}
