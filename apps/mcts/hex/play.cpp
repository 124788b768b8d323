// SPDX-License-Identifier: MIT
// The dialogue with a person.
#include "hex/play.hpp"

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <sstream>
#include <vector>

#include "dtutils/clock.hpp"
#include "dtutils/error.hpp"
#include "hex/report_text.hpp"

namespace hex {
namespace {

constexpr const char* kHelp =
    "  f6        place a stone (column f, row 6)\n"
    "  swap      take over the first stone, with --swap\n"
    "  undo      take back your last move and the answer to it\n"
    "  time 3    let me think 3 seconds a move\n"
    "  hint      what I would do\n"
    "  board     draw the board again\n"
    "  resign    give up\n"
    "  quit      end without a winner\n";

class Game {
 public:
  Game(Engine& engine, const PlayOptions& options, std::istream& in, std::ostream& out)
      : engine_(engine),
        options_(options),
        in_(in),
        out_(out),
        position_(options.size, options.swap_rule) {}

  int run() {
    out_ << fmt::format("You are {}, I am {}. \"help\" lists what you can say.\n\n",
                        describe(options_.person), describe(1 - options_.person));
    show();
    while (position_.outcome() == mcts::Outcome::kOngoing && winner_ < 0) {
      if (position_.player() == options_.person) {
        if (!ask()) return winner_;
      } else {
        answer();
      }
    }
    if (winner_ < 0) winner_ = position_.outcome() == mcts::Outcome::kFirst ? 0 : 1;
    out_ << (winner_ == options_.person ? "You win.\n" : "I win.\n");
    return winner_;
  }

 private:
  void show() { out_ << draw(position_, last_, options_.colour) << '\n' << std::flush; }

  /// False: the game ends here.
  bool ask() {
    const auto begin = dtutils::Clock::now();
    for (;;) {
      out_ << fmt::format("your move ({}): ", mark_of(options_.person)) << std::flush;
      std::string line;
      if (!std::getline(in_, line)) {
        out_ << "\nThe input has ended, and so has the game.\n";
        return false;
      }
      std::istringstream words(line);
      std::string word, rest;
      if (!(words >> word)) continue;
      words >> rest;
      if (word == "quit") return false;
      if (word == "resign") {
        winner_ = 1 - options_.person;
        return true;
      }
      if (word == "undo") {
        undo();
        return true;
      }
      if (said(word, rest)) continue;
      std::string why;
      const auto move = parse_move(word, position_, why);
      if (!move) {
        out_ << why << " (\"help\" lists what you can say)\n";
        continue;
      }
      const std::chrono::duration<double> took = dtutils::Clock::now() - begin;
      make(*move);
      out_ << fmt::format("{} after {:.1f} s\n\n", name_of(*move, options_.size), took.count());
      show();
      return true;
    }
  }
  /// What changes nothing on the board.
  bool said(const std::string& word, const std::string& rest) {
    if (word == "help") {
      out_ << kHelp;
    } else if (word == "board") {
      show();
    } else if (word == "hint") {
      const mcts::Report report = think();
      out_ << "I would play " << name_of(report.best(), options_.size) << ".\n";
    } else if (word == "time") {
      set_time(rest);
    } else {
      return false;
    }
    return true;
  }
  void set_time(const std::string& text) {
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(seconds > 0) || seconds > 3600) {
      out_ << "say for example: time 3 (seconds a move, up to 3600)\n";
      return;
    }
    options_.limits.seconds = seconds;
    out_ << fmt::format("I think {} s a move from now on.\n", seconds);
  }

  void answer() {
    const mcts::Report report = think();
    const mcts::Move move = report.best();
    if (move == mcts::kNoMove) throw dtutils::Error("search", report.failure, "start again");
    make(move);
    out_ << fmt::format("I play {} ({:.1f} % of {} playouts, {:.1f} s)\n\n",
                        name_of(move, options_.size), 100 * report.value(),
                        report.total.simulations * options_.settings.playouts, report.seconds);
    show();
    if (!report.failure.empty()) {
      throw dtutils::Error("search", report.failure, "this was the best move until then");
    }
  }
  mcts::Report think() {
    ProgressLine line;
    ++options_.settings.seed;
    return engine_.think(position_, options_.settings, options_.limits,
                         [&](const mcts::Report& report) { line.show(report, options_.size); });
  }

  void make(mcts::Move move) {
    before_.push_back(position_);
    position_.apply(move);
    last_ = move == position_.swap_move() ? mcts::kNoMove : move;
  }
  /// Back to the person's last turn.
  void undo() {
    std::size_t keep = before_.size();
    while (keep > 0 && before_[keep - 1].player() != options_.person) --keep;
    if (keep == 0) {
      out_ << "there is no move of yours to take back\n";
      return;
    }
    position_ = before_[keep - 1];
    before_.resize(keep - 1);
    last_ = mcts::kNoMove;
    show();
  }

  Engine& engine_;
  PlayOptions options_;
  std::istream& in_;
  std::ostream& out_;
  Position position_;
  mcts::Move last_ = mcts::kNoMove;
  std::vector<Position> before_;
  int winner_ = -1;
};

}  // namespace

int play(Engine& engine, const PlayOptions& options, std::istream& in, std::ostream& out) {
  return Game(engine, options, in, out).run();
}

}  // namespace hex
