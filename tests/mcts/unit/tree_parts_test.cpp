// SPDX-License-Identifier: MIT
// Links, blocks of children and the arena, one at a time and under threads.
#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "mcts/arena.hpp"
#include "mcts/children.hpp"
#include "mcts/link.hpp"
#include "support/catch.hpp"
#include "support/threads.hpp"

using namespace mcts;

namespace {

/// A block of children for moves 0 to `count` - 1.
struct Block {
  explicit Block(std::size_t count) {
    std::vector<Move> moves;
    for (std::size_t i = 0; i < count; ++i) moves.push_back(static_cast<Move>(i));
    memory.reset(static_cast<std::byte*>(
        std::aligned_alloc(64, (Children::bytes_for(count) + 63) / 64 * 64)));
    Random random(5);
    children = Children::make(memory.get(), moves, random);
  }
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> memory;
  Children* children;
};
constexpr float kFull = 2;

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
    CHECK(block.children->take_next() == i);
    seen.insert(block.children->move(i));
    in_order = in_order && block.children->move(i) == i;
  }
  CHECK(seen.size() == 50);
  CHECK_FALSE(in_order);
  CHECK(block.children->take_next() == 50);
  CHECK(block.children->take_next() == 50);
}

TEST_CASE("best_child_has_the_highest_bound") {
  Block block(7);
  Children& children = *block.children;
  for (std::uint32_t i = 0; i < 7; ++i) {
    for (std::uint32_t visit = 0; visit < 10; ++visit) children.visit(i, kFull);
    children.settle(i, i == 5 ? 15 : 10, Proof::kNone, kFull);
  }
  CHECK(children.best(0.5F, 70) == 5);
  // Visits without points lower it: the virtual loss.
  for (int i = 0; i < 20; ++i) children.visit(5, kFull);
  CHECK(children.best(0.1F, 90) != 5);
  CHECK(children.tally(5).visits == 30);
  CHECK(children.tally(5).points == 15);
}

TEST_CASE("a_child_of_few_visits_is_explored") {
  Block block(3);
  Children& children = *block.children;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const int visits = i == 1 ? 1 : 1000;
    for (int visit = 0; visit < visits; ++visit) children.visit(i, kFull);
    children.settle(i, static_cast<std::uint32_t>(visits), Proof::kNone, kFull);
  }
  CHECK(children.best(1, 2001) == 1);
  CHECK(children.best(0, 2001) == 0);
}

TEST_CASE("proofs_decide_and_are_told_once") {
  Block block(3);
  Children& children = *block.children;
  for (std::uint32_t i = 0; i < 3; ++i) children.visit(i, kFull);
  CHECK_FALSE(children.settle(0, 2, Proof::kLoss, kFull));
  CHECK_FALSE(children.settle(0, 0, Proof::kLoss, kFull));  // the same child again
  CHECK(children.tally(0).proof == Proof::kLoss);
  CHECK(children.best(10, 3) != 0);
  CHECK_FALSE(children.settle(1, 0, Proof::kLoss, kFull));
  CHECK(children.best(0, 3) == 2);
  CHECK(children.settle(2, 0, Proof::kLoss, kFull));
  CHECK_FALSE(children.settle(2, 0, Proof::kLoss, kFull));
  CHECK(children.tally(0).points == 2);
  Block other(2);
  other.children->visit(0, kFull);
  other.children->visit(1, kFull);
  other.children->settle(0, 2, Proof::kNone, kFull);
  CHECK_FALSE(other.children->settle(1, 0, Proof::kWin, kFull));
  CHECK(other.children->best(0, 2) == 1);
}

TEST_CASE("deferred_selections_are_handed_over_exactly_once") {
  constexpr int kThreads = 4;
  constexpr int kTries = 2000;
  for (int round = 0; round < 20; ++round) {
    Block block(1);
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
  Block block(4);
  support::Threads threads;
  for (int t = 0; t < 4; ++t) {
    threads.start([&] {
      for (std::uint32_t i = 0; i < 4000; ++i) {
        block.children->visit(i % 4, kFull);
        block.children->settle(i % 4, i % 3, Proof::kNone, kFull);
      }
    });
  }
  threads.join();
  std::uint32_t visits = 0, points = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    visits += block.children->tally(i).visits;
    points += block.children->tally(i).points;
  }
  CHECK(visits == 16000);
  CHECK(points == 4 * (4000 / 3 * 3));
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
