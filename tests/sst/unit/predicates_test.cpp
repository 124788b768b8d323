// SPDX-License-Identifier: MIT
// When triggers run: the three kinds, their order, and changes while evaluating.
#include "sst/predicates.hpp"

#include <atomic>
#include <barrier>
#include <string>
#include <vector>

#include "sst/when.hpp"
#include "support/catch.hpp"
#include "support/threads.hpp"

using namespace sst;

namespace {

/// What predicates and triggers are about, in place of a table.
struct World {
  int value = 0;
  std::vector<std::string> log;
};
using All = Predicates<World>;

template <class Predicate>
When<World, Predicate> when(All& all, Predicate predicate) {
  return {all, std::move(predicate)};
}
auto says(const char* text) {
  return [text](World& world) { world.log.emplace_back(text); };
}
auto is(int value) {
  return [value](const World& world) { return world.value == value; };
}

}  // namespace

TEST_CASE("recurrent_triggers_run_each_time_it_is_true") {
  World world;
  All all;
  when(all, is(1)).recurrent(says("one"));
  CHECK_FALSE(all.evaluate(world));
  world.value = 1;
  CHECK(all.evaluate(world));
  CHECK(all.evaluate(world));
  world.value = 0;
  CHECK_FALSE(all.evaluate(world));
  CHECK(world.log == std::vector<std::string>{"one", "one"});
}

TEST_CASE("one_time_triggers_run_once_and_are_gone") {
  World world;
  All all;
  when(all, is(1)).once(says("one"));
  all.evaluate(world);
  CHECK(all.size() == 1);
  world.value = 1;
  CHECK(all.evaluate(world));
  CHECK(all.size() == 0);
  CHECK_FALSE(all.evaluate(world));
  CHECK(world.log == std::vector<std::string>{"one"});
}

TEST_CASE("transition_triggers_run_when_it_turns_true") {
  World world;
  All all;
  when(all, is(1)).on_transition(says("turned"));
  world.value = 1;
  CHECK(all.evaluate(world));
  CHECK_FALSE(all.evaluate(world));
  world.value = 0;
  CHECK_FALSE(all.evaluate(world));
  world.value = 1;
  CHECK(all.evaluate(world));
  CHECK_FALSE(all.evaluate(world));
  CHECK(world.log.size() == 2);
}

TEST_CASE("triggers_run_in_order_within_and_across_predicates") {
  World world;
  All all;
  when(all, is(0)).recurrent(says("a"), says("b"));
  when(all, [](const World& w) { return w.log.size() == 2; }).recurrent(says("c"), says("d"));
  when(all, is(0)).recurrent(says("e"));
  all.evaluate(world);
  // A later predicate sees what the triggers of an earlier one have done.
  CHECK(world.log == std::vector<std::string>{"a", "b", "c", "d", "e"});
}

TEST_CASE("a_run_of_alike_predicates_keeps_each_one_its_captures") {
  World world;
  All all;
  std::vector<int> fired;
  for (int i = 0; i < 100; ++i) {
    when(all, is(i)).recurrent([&fired, i](World&) { fired.push_back(i); });
  }
  for (world.value = 0; world.value < 100; ++world.value) all.evaluate(world);
  REQUIRE(fired.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(fired[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("predicates_may_capture_much_or_own_something") {
  World world;
  All all;
  struct Much {
    std::uint64_t numbers[20];
  };
  const Much much{{1, 2, 3}};
  when(all, [much](const World&) { return much.numbers[2] == 3; }).recurrent(says("much"));
  const std::string text(100, 'x');
  when(all, [text](const World&) { return text.size() == 100; }).recurrent(says("text"));
  all.evaluate(world);
  CHECK(world.log == std::vector<std::string>{"much", "text"});
}

TEST_CASE("a_trigger_adds_predicates_for_the_next_evaluation") {
  World world;
  All all;
  when(all, is(0)).once([&all](World& w) {
    w.log.emplace_back("first");
    when(all, is(0)).once(says("second"));
  });
  all.evaluate(world);
  CHECK(world.log == std::vector<std::string>{"first"});
  all.evaluate(world);
  CHECK(world.log == std::vector<std::string>{"first", "second"});
  CHECK(all.size() == 0);
}

TEST_CASE("a_trigger_that_removes_a_predicate_stops_it_at_once") {
  World world;
  All all;
  PredicateId itself, later;
  itself = when(all, is(0)).recurrent([&](World& w) {
    w.log.emplace_back("once");
    all.remove(itself);
    all.remove(later);
  });
  later = when(all, is(0)).recurrent(says("never"));
  when(all, is(0)).recurrent(says("always"));
  all.evaluate(world);
  all.evaluate(world);
  CHECK(world.log == std::vector<std::string>{"once", "always", "always"});
  CHECK(all.size() == 1);
}

TEST_CASE("a_predicate_may_be_removed_before_it_was_evaluated") {
  World world;
  All all;
  all.remove(when(all, is(0)).recurrent(says("never")));
  all.evaluate(world);
  CHECK(world.log.empty());
  CHECK(all.size() == 0);
  all.remove({12345});
  all.evaluate(world);
}

TEST_CASE("evaluation_inside_a_trigger_does_nothing") {
  World world;
  All all;
  bool nested = true;
  when(all, is(0)).recurrent([&](World& w) { nested = all.evaluate(w); });
  CHECK(all.evaluate(world));
  CHECK_FALSE(nested);
}

TEST_CASE("an_exception_of_a_trigger_leaves_the_predicates_sound") {
  World world;
  All all;
  when(all, is(0)).once([](World&) { throw std::runtime_error("no"); });
  when(all, is(0)).recurrent(says("later"));
  CHECK_THROWS_AS(all.evaluate(world), std::runtime_error);
  CHECK(world.log.empty());
  CHECK(all.evaluate(world));
  CHECK(world.log == std::vector<std::string>{"later"});
  CHECK(all.size() == 1);
}

TEST_CASE("growing_values_are_handed_over_in_ranges_without_gap_or_overlap") {
  World world;
  All all;
  std::vector<std::pair<int, int>> ranges;
  WhenGrows<World, int (*)(const World&), int>(
      all, [](const World& w) { return w.value; }, 10)
      .deliver([&](World&, int first, int last) { ranges.emplace_back(first, last); });
  for (const int value : {3, 10, 11, 11, 15, 14, 15, 40}) {
    world.value = value;
    all.evaluate(world);
  }
  CHECK(ranges == std::vector<std::pair<int, int>>{{11, 11}, {12, 15}, {16, 40}});
}

TEST_CASE("no_predicate_is_lost_when_threads_add_at_the_same_moment") {
  World world;
  All all;
  constexpr std::size_t kThreads = 2, kEach = 2'000, kRounds = 50;
  std::barrier round(kThreads);
  support::Threads threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.start([&] {
      for (std::size_t i = 0; i < kRounds * kEach; ++i) {
        // Together again, in case that one of them had no core.
        if (i % kEach == 0) round.arrive_and_wait();
        when(all, [](const World&) { return false; }).recurrent([](World&) {});
      }
    });
  }
  threads.join();
  all.evaluate(world);
  CHECK(all.size() == kThreads * kRounds * kEach);
}

TEST_CASE("other_threads_add_and_remove_while_one_evaluates") {
  World world;
  All all;
  constexpr int kThreads = 3, kRounds = 2000;
  std::atomic<int> added{0}, fired{0}, wrong{0};
  support::Threads threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.start([&] {
      for (int i = 0; i < kRounds; ++i) {
        when(all, [](const World&) { return true; }).once([&fired](World&) { ++fired; });
        ++added;
        const PredicateId gone =
            when(all, [](const World&) { return false; }).recurrent([&wrong](World&) { ++wrong; });
        all.remove(gone);
      }
    });
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (fired < kThreads * kRounds && std::chrono::steady_clock::now() < end) all.evaluate(world);
  threads.join();
  all.evaluate(world);
  all.evaluate(world);
  CHECK(fired == added);
  CHECK(wrong == 0);
  CHECK(all.size() == 0);
}
