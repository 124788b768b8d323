// SPDX-License-Identifier: MIT
// GTP: the dialogue, the commands and the clock.
#include "hex/gtp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <sstream>

#include "dtutils/error.hpp"

namespace hex {
namespace {

std::string lower(std::string text) {
  for (char& each : text) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  return text;
}

/// Without comment and control characters; tabs are spaces.
std::string cleaned(const std::string& line) {
  std::string text;
  for (const char each : line) {
    if (each == '#') break;
    if (each == '\t') {
      text += ' ';
    } else if (static_cast<unsigned char>(each) >= 32 && each != 127) {
      text += each;
    }
  }
  return text;
}

bool is_number(const std::string& word) {
  return !word.empty() && word.size() < 10 &&
         word.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Gtp::Gtp(Engine& engine, const GtpOptions& options, std::istream& in, std::ostream& out)
    : engine_(engine),
      options_(options),
      in_(in),
      out_(out),
      position_(options.size, options.swap_rule) {
  add_session_commands();
  add_board_commands();
}

void Gtp::add_session_commands() {
  commands_["protocol_version"] = [](const Arguments&) { return "2"; };
  commands_["name"] = [](const Arguments&) { return "Cariama Hex"; };
  commands_["version"] = [](const Arguments&) { return "0.1.0"; };
  commands_["known_command"] = [this](const Arguments& arguments) {
    return !arguments.empty() && commands_.count(arguments[0]) != 0 ? "true" : "false";
  };
  commands_["list_commands"] = [this](const Arguments&) {
    std::string names;
    for (const auto& [name, handler] : commands_) names += name + "\n";
    names.pop_back();
    return names;
  };
  commands_["quit"] = [this](const Arguments&) {
    quit_ = true;
    return "";
  };
  commands_["time_settings"] = [this](const Arguments& all) { return set_time(all); };
  commands_["time_left"] = [this](const Arguments& all) { return left(all); };
}

void Gtp::add_board_commands() {
  commands_["boardsize"] = [this](const Arguments& all) { return set_size(all); };
  commands_["clear_board"] = [this](const Arguments&) {
    position_ = Position(position_.size(), options_.swap_rule);
    before_.clear();
    last_ = mcts::kNoMove;
    left_[0] = left_[1] = main_time_;
    return "";
  };
  commands_["play"] = [this](const Arguments& all) { return play(all); };
  commands_["genmove"] = [this](const Arguments& all) { return generate(all); };
  commands_["undo"] = [this](const Arguments&) { return undo(); };
  commands_["showboard"] = [this](const Arguments&) {
    std::string board = "\n" + draw(position_, last_);
    board.pop_back();
    return board;
  };
  commands_["final_score"] = [this](const Arguments&) { return result(); };
}

void Gtp::run() {
  std::string line;
  while (!quit_ && std::getline(in_, line)) answer(cleaned(line));
  if (!failure_.empty()) throw dtutils::Error("search", failure_, "start the program again");
}

void Gtp::answer(const std::string& line) {
  std::istringstream words(line);
  Arguments all;
  for (std::string word; words >> word;) all.push_back(word);
  std::string id;
  if (!all.empty() && is_number(all[0])) {
    id = all[0];
    all.erase(all.begin());
  }
  if (all.empty()) return;
  const auto command = commands_.find(all[0]);
  all.erase(all.begin());
  std::string text;
  char verdict = '=';
  try {
    if (command == commands_.end()) throw Refusal{"unknown command"};
    text = command->second(all);
  } catch (const Refusal& refusal) {
    verdict = '?';
    text = refusal.why;
  } catch (const dtutils::Error& error) {
    verdict = '?';
    text = error.what();
  }
  out_ << verdict << id << (text.empty() ? "" : " ") << text << "\n\n" << std::flush;
  if (!failure_.empty()) quit_ = true;
}

int Gtp::colour_of(const Arguments& arguments) const {
  const std::string word = arguments.empty() ? "" : lower(arguments[0]);
  if (word == "b" || word == "black") return 0;
  if (word == "w" || word == "white") return 1;
  throw Refusal{"syntax error: a colour is b, black, w or white"};
}

std::string Gtp::set_size(const Arguments& arguments) {
  const bool square =
      arguments.size() == 1 || (arguments.size() == 2 && arguments[0] == arguments[1]);
  if (!square || !is_number(arguments[0])) throw Refusal{"syntax error: boardsize 11"};
  const std::size_t size = std::stoul(arguments[0]);
  if (size < 1 || size > games::kMaxHexSize) throw Refusal{"unacceptable size"};
  position_ = Position(size, options_.swap_rule);
  return commands_["clear_board"]({});
}

std::string Gtp::play(const Arguments& arguments) {
  const int player = colour_of(arguments);
  if (arguments.size() < 2) throw Refusal{"syntax error: play black f6"};
  if (lower(arguments[1]) == "resign") return "";
  Position here = position_;
  here.set_player(player);
  std::string why;
  const auto move = parse_move(arguments[1], here, why);
  if (!move) throw Refusal{"illegal move: " + why};
  if (position_.outcome() != mcts::Outcome::kOngoing)
    throw Refusal{"illegal move: the game is over"};
  make(*move, player);
  return "";
}

std::string Gtp::generate(const Arguments& arguments) {
  const int player = colour_of(arguments);
  if (position_.outcome() != mcts::Outcome::kOngoing) return "resign";
  Position here = position_;
  here.set_player(player);
  mcts::Limits limits = options_.limits;
  if (clock_) limits.seconds = time_for_move(player);
  ++options_.settings.seed;
  const mcts::Report report = engine_.think(here, options_.settings, limits, {});
  left_[player] = std::max(0.0, left_[player] - report.seconds);
  failure_ = report.failure;
  const mcts::Move move = report.best();
  if (move == mcts::kNoMove) throw Refusal{"no move: " + failure_};
  make(move, player);
  return move == position_.swap_move() ? "swap-pieces" : name_of(move, position_.size());
}

std::string Gtp::set_time(const Arguments& arguments) {
  if (arguments.size() != 3 || !std::all_of(arguments.begin(), arguments.end(), is_number)) {
    throw Refusal{"syntax error: time_settings main_time byo_yomi_time byo_yomi_stones"};
  }
  main_time_ = std::stod(arguments[0]);
  byo_time_ = std::stod(arguments[1]);
  byo_stones_ = std::stod(arguments[2]);
  // Time without stones means: no limit at all.
  clock_ = byo_time_ == 0 || byo_stones_ > 0;
  left_[0] = left_[1] = main_time_;
  return "";
}

std::string Gtp::left(const Arguments& arguments) {
  const int player = colour_of(arguments);
  if (arguments.size() != 3 || !is_number(arguments[1]) || !is_number(arguments[2])) {
    throw Refusal{"syntax error: time_left colour time stones"};
  }
  left_[player] = arguments[2] == "0" ? std::stod(arguments[1]) : 0;
  return "";
}

double Gtp::time_for_move(int player) const {
  constexpr double kReserve = 0.05;
  constexpr double kShortest = 0.02;
  if (left_[player] <= kReserve) {
    const double share = byo_stones_ > 0 ? byo_time_ / byo_stones_ : 0;
    return std::max(kShortest, share * 0.9 - kReserve);
  }
  // Most games end when about half of the cells are taken.
  const double cells = static_cast<double>(position_.size() * position_.size());
  const double moves = std::max(4.0, (cells * 0.6 - static_cast<double>(position_.stones())) / 2);
  return std::max(kShortest, left_[player] / moves);
}

std::string Gtp::undo() {
  if (before_.empty()) throw Refusal{"cannot undo"};
  position_ = before_.back();
  before_.pop_back();
  last_ = mcts::kNoMove;
  return "";
}

std::string Gtp::result() const {
  switch (position_.outcome()) {
    case mcts::Outcome::kFirst:
      return "B+";
    case mcts::Outcome::kSecond:
      return "W+";
    default:
      throw Refusal{"the game is not over"};
  }
}

void Gtp::make(mcts::Move move, int player) {
  before_.push_back(position_);
  position_.set_player(player);
  position_.apply(move);
  last_ = move == position_.swap_move() ? mcts::kNoMove : move;
}

}  // namespace hex
