// SPDX-License-Identifier: MIT
// The Go Text Protocol, version 2, as Hex programs and their graphical interfaces speak it.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "hex/engine.hpp"

namespace hex {

struct GtpOptions {
  std::size_t size = 11;
  bool swap_rule = true;
  mcts::Settings settings;
  mcts::Limits limits;
};

/// One session: commands from `in`, one a line; answers to `out`. Black is x. The rules of the
/// protocol: "= answer" or "? reason" with the command's number, then an empty line; comments (#)
/// and control characters are dropped; `play` takes moves of either colour in any order. Source:
/// Farnebäck, Specification of the Go Text Protocol version 2, draft 2.
class Gtp {
 public:
  Gtp(Engine& engine, const GtpOptions& options, std::istream& in, std::ostream& out);
  Gtp(const Gtp&) = delete;
  Gtp& operator=(const Gtp&) = delete;

  /// Until `quit`, or the end of the input. Throws Error when a process of the search is lost,
  /// after the answer.
  void run();

 private:
  using Arguments = std::vector<std::string>;
  /// The answer; failures are thrown as Refusal.
  using Handler = std::function<std::string(const Arguments&)>;
  struct Refusal {
    std::string why;
  };

  void add_session_commands();
  void add_board_commands();
  void answer(const std::string& line);
  int colour_of(const Arguments& arguments) const;
  std::string set_size(const Arguments& arguments);
  std::string play(const Arguments& arguments);
  std::string generate(const Arguments& arguments);
  std::string set_time(const Arguments& arguments);
  std::string left(const Arguments& arguments);
  std::string undo();
  std::string result() const;
  void make(mcts::Move move, int player);
  /// What a move may take, in seconds.
  double time_for_move(int player) const;

  Engine& engine_;
  GtpOptions options_;
  std::istream& in_;
  std::ostream& out_;
  std::map<std::string, Handler> commands_;
  Position position_;
  std::vector<Position> before_;
  mcts::Move last_ = mcts::kNoMove;
  /// Seconds that each side has for the rest of the game, when a clock is set.
  bool clock_ = false;
  double main_time_ = 0;
  double left_[2] = {0, 0};
  /// Extra time for every `byo_stones_` stones, once the rest is gone.
  double byo_time_ = 0;
  double byo_stones_ = 0;
  bool quit_ = false;
  std::string failure_;
};

}  // namespace hex
