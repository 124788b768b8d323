// SPDX-License-Identifier: MIT
// The dialogue with a person: moves, mistakes, undo, resignation.
#include "hex/play.hpp"

#include <sstream>

#include "mcts/support/fake_engine.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

using support::contains;
using support::FakeEngine;

namespace {

struct Dialogue {
  int winner;
  std::string out;
};

Dialogue play(const std::string& input, FakeEngine& engine, int person = 0) {
  hex::PlayOptions options;
  options.size = 3;
  options.person = person;
  std::istringstream in(input);
  std::ostringstream out;
  const int winner = hex::play(engine, options, in, out);
  return {winner, out.str()};
}

}  // namespace

TEST_CASE("a_person_can_win") {
  FakeEngine engine;
  engine.answers = {"a1", "a2"};
  const Dialogue outcome = play("b1\nb2\nb3\n", engine);
  CHECK(outcome.winner == 0);
  CHECK_THAT(outcome.out, contains("You win."));
}

TEST_CASE("a_person_can_lose_and_resign_and_quit") {
  FakeEngine engine;
  engine.answers = {"a1", "b1", "c1"};
  const Dialogue lost = play("a3\nb3\nc3\n", engine);
  CHECK(lost.winner == 1);
  CHECK_THAT(lost.out, contains("I win."));
  CHECK(play("resign\n", engine).winner == 1);
  CHECK(play("resign\n", engine, 1).winner == 0);
  CHECK(play("quit\n", engine).winner == -1);
  CHECK(play("", engine).winner == -1);
}

TEST_CASE("mistakes_are_explained_and_asked_again") {
  FakeEngine engine;
  const Dialogue outcome = play("d9\nhello\nb2\nb2\nhelp\ntime\ntime 3\nhint\nquit\n", engine);
  CHECK_THAT(outcome.out, contains("d9 is not on the board"));
  CHECK_THAT(outcome.out, contains("\"hello\" is no cell"));
  CHECK_THAT(outcome.out, contains("b2 is taken"));
  CHECK_THAT(outcome.out, contains("take back your last move"));
  CHECK_THAT(outcome.out, contains("say for example: time 3"));
  CHECK_THAT(outcome.out, contains("I would play"));
  CHECK(engine.limits.seconds == 3);
}

TEST_CASE("undo_takes_back_a_move_and_its_answer") {
  FakeEngine engine;
  engine.answers = {"a1", "c1"};
  const Dialogue outcome = play("b2\nundo\nundo\nb2\nquit\n", engine);
  CHECK_THAT(outcome.out, contains("there is no move of yours to take back"));
  CHECK_THAT(outcome.out, contains("I play c1"));
  CHECK_THAT(outcome.out, !contains("b2 is taken"));
}

TEST_CASE("a_lost_process_ends_a_game_after_the_best_move") {
  FakeEngine engine;
  engine.failure = "process 1: is gone";
  std::istringstream in("b2\n");
  std::ostringstream out;
  hex::PlayOptions options;
  options.size = 3;
  CHECK_THROWS_WITH(hex::play(engine, options, in, out), contains("process 1"));
  CHECK_THAT(out.str(), contains("I play a1"));
}
