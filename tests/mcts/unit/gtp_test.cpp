// SPDX-License-Identifier: MIT
// GTP: answers as the specification wants them, and refusals.
#include "hex/gtp.hpp"

#include <sstream>

#include "mcts/support/fake_engine.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

using support::contains;
using support::FakeEngine;

namespace {

std::string session(const std::string& commands, FakeEngine& engine) {
  std::istringstream in(commands);
  std::ostringstream out;
  hex::Gtp(engine, {}, in, out).run();
  return out.str();
}
std::string session(const std::string& commands) {
  FakeEngine engine;
  return session(commands, engine);
}

}  // namespace

TEST_CASE("gtp_answers_with_number_and_empty_line") {
  CHECK(session("protocol_version\n") == "= 2\n\n");
  CHECK(session("7 protocol_version\n") == "=7 2\n\n");
  CHECK(session("8 nonsense\n") == "?8 unknown command\n\n");
  CHECK(session("# only a comment\n\n  \nname # and one here\n") == "= Cariama Hex\n\n");
  CHECK(session("known_command genmove\nknown_command dance\n") == "= true\n\n= false\n\n");
  CHECK(session("quit\nname\n") == "=\n\n");
}

TEST_CASE("gtp_knows_the_commands_that_every_controller_needs") {
  const std::string list = session("list_commands\n");
  for (const char* name : {"protocol_version", "name", "version", "known_command", "list_commands",
                           "quit", "boardsize", "clear_board", "play", "genmove", "undo",
                           "showboard", "time_settings", "time_left", "final_score"}) {
    CHECK_THAT(list, contains(std::string(name) + "\n"));
  }
}

TEST_CASE("gtp_plays_and_refuses") {
  CHECK(session("boardsize 5\nplay b c3\nplay w c3\n") ==
        "=\n\n=\n\n? illegal move: c3 is taken: choose an empty cell\n\n");
  CHECK_THAT(session("boardsize 5\nplay b f1\n"), contains("? illegal move: f1 is not on"));
  CHECK_THAT(session("play green c3\n"), contains("? syntax error"));
  CHECK_THAT(session("play b\n"), contains("? syntax error"));
  CHECK(session("boardsize 20\n") == "? unacceptable size\n\n");
  CHECK_THAT(session("boardsize x\n"), contains("? syntax error"));
  CHECK(session("undo\n") == "? cannot undo\n\n");
}

TEST_CASE("gtp_generates_for_either_colour") {
  FakeEngine engine;
  engine.answers = {"b2", "swap", "a1"};
  CHECK(session("boardsize 3\ngenmove b\ngenmove w\ngenmove b\n", engine) ==
        "=\n\n= b2\n\n= swap-pieces\n\n= a1\n\n");
}

TEST_CASE("gtp_undoes_and_tells_the_winner") {
  CHECK(session("boardsize 2\nplay b a1\nplay b a2\nfinal_score\ngenmove w\n") ==
        "=\n\n=\n\n=\n\n= B+\n\n= resign\n\n");
  CHECK_THAT(session("boardsize 2\nplay b a1\nplay b a2\nundo\nfinal_score\nplay w a2\n"),
             contains("? the game is not over\n\n=\n\n"));
}

TEST_CASE("gtp_divides_the_time_that_is_left") {
  FakeEngine engine;
  session("boardsize 11\ntime_settings 60 0 0\ngenmove b\n", engine);
  CHECK(engine.limits.seconds > 0.5);
  CHECK(engine.limits.seconds < 10);
  session("boardsize 11\ntime_settings 0 20 10\ngenmove b\n", engine);
  CHECK(engine.limits.seconds > 1);
  CHECK(engine.limits.seconds < 2);
  session("time_settings 60 0 0\ntime_left b 1 0\ngenmove b\n", engine);
  CHECK(engine.limits.seconds < 0.5);
}

TEST_CASE("gtp_ends_with_the_reason_when_a_process_is_lost") {
  FakeEngine engine;
  engine.failure = "process 1: is gone";
  std::istringstream in("genmove b\nname\n");
  std::ostringstream out;
  CHECK_THROWS_WITH(hex::Gtp(engine, {}, in, out).run(), contains("process 1"));
  CHECK(out.str() == "= a1\n\n");
}
