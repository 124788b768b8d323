// SPDX-License-Identifier: MIT
// hex: searches a position, plays against a person, lets two settings play against each other.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/command_line.hpp"
#include "hex/interval.hpp"
#include "hex/match.hpp"
#include "hex/options.hpp"
#include "hex/play.hpp"
#include "hex/report_text.hpp"
#include "simulation/cariama_main.hpp"

namespace {

struct Options {
  hex::SearchOptions search;
  std::vector<std::string> moves;
  bool swap_rule = false;
  bool json = false;
  bool second = false;
  std::uint64_t games = 20;
  std::string a, b;
};

hex::Position position_of(const Options& options) {
  hex::Position position(options.search.size, options.swap_rule);
  for (const std::string& text : options.moves) {
    std::string why;
    const auto move = hex::parse_move(text, position, why);
    if (!move) throw dtutils::Error("--moves", why, "give the moves of both sides in turn");
    position.apply(*move);
  }
  return position;
}

/// Exit status 3: a process was lost on the way.
int search(hex::Engine& engine, const Options& options) {
  const hex::Position position = position_of(options);
  const mcts::Settings& settings = options.search.settings;
  mcts::Report report;
  {
    hex::ProgressLine line;
    report = engine.think(position, settings, options.search.limits,
                          [&](const mcts::Report& now) { line.show(now, options.search.size); });
  }
  if (options.json) {
    fmt::print("{}\n", hex::to_json(report, position, settings).dump(2));
  } else {
    hex::Position after = position;
    if (report.best() != mcts::kNoMove) after.apply(report.best());
    fmt::print("{}\n{}", hex::draw(after, report.best(), isatty(STDOUT_FILENO) == 1),
               hex::describe(report, position, settings));
  }
  std::fflush(stdout);
  return report.failure.empty() ? EXIT_SUCCESS : 3;
}

int play(hex::Engine& engine, const Options& options) {
  hex::PlayOptions play;
  play.size = options.search.size;
  play.swap_rule = options.swap_rule;
  play.person = options.second ? 1 : 0;
  play.colour = isatty(STDOUT_FILENO) == 1;
  play.settings = options.search.settings;
  play.limits = options.search.limits;
  hex::play(engine, play, std::cin, std::cout);
  return EXIT_SUCCESS;
}

hex::MatchOptions match_of(const Options& options) {
  hex::MatchOptions match;
  match.size = options.search.size;
  match.games = options.games;
  match.seed = options.search.settings.seed;
  const std::string* texts[] = {&options.a, &options.b};
  for (std::size_t i = 0; i < 2; ++i) {
    hex::Contender& contender = match.contenders[i];
    contender = {fmt::format("{} {}", i == 0 ? "A" : "B", *texts[i]), options.search.settings,
                 options.search.limits};
    hex::configure(contender, *texts[i]);
  }
  return match;
}

int match(hex::Engine& engine, const Options& options) {
  const hex::MatchOptions match = match_of(options);
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const hex::MatchResult result = play_match(engine, match, [&](const hex::MatchResult& now) {
    if (terminal) fmt::print(stderr, "\rA won {} of {}\x1b[K", now.won(), now.games);
  });
  if (terminal) fmt::print(stderr, "\r\x1b[K");
  if (options.json) {
    const hex::Interval interval = hex::wilson(result.won(), result.games);
    const nlohmann::json json{{"games", result.games},       {"won", result.won()},
                              {"low", interval.low},         {"high", interval.high},
                              {"playouts", result.playouts}, {"seconds", result.seconds}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}", hex::describe(result, match));
  }
  return EXIT_SUCCESS;
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  Options options;
  dsfabric::Config config;
  if (const auto status = common::read_settings(argc, argv, config)) return *status;
  CLI::App app{"Distributed Monte-Carlo tree search, playing Hex.", "hex"};
  app.footer(
      "As a job of several processes: scripts/run -n 2 -t 1 build/release/apps/mcts/hex --size "
      "11\n" +
      dsfabric::describe_settings());
  hex::add_search_options(app, options.search);
  app.fallthrough();
  app.add_flag("--swap", options.swap_rule, "with the swap rule");
  app.add_flag("--json", options.json, "print for programs");
  app.add_option("--moves", options.moves, "moves made so far, x first: --moves f6,e5")
      ->delimiter(',');
  app.add_subcommand("search", "print the best move (what happens without a subcommand)");
  auto* play_command = app.add_subcommand("play", "play against a person");
  play_command->add_flag("--second", options.second, "the person moves second");
  auto* match_command = app.add_subcommand("match", "let two settings play against each other");
  match_command->add_option("--games", options.games, "games")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  match_command->add_option("--a", options.a, "A, as processes=2,playouts=16,seconds=0.1 or flat");
  match_command->add_option("--b", options.b, "B");
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? EXIT_SUCCESS : 2;
  }

  const bool is_play = play_command->parsed();
  const bool is_match = match_command->parsed();
  hex::finish(options.search, is_match ? 0.1 : is_play ? 2.0 : 5.0);
  // Mistakes are told before the processes meet.
  (void)position_of(options);
  (void)match_of(options);
  dsfabric::Fabric fabric = dsfabric::join(config);
  int status = EXIT_SUCCESS;
  with_engine(fabric, options.search.engine, [&](hex::Engine& engine) {
    status = is_play    ? play(engine, options)
             : is_match ? match(engine, options)
                        : search(engine, options);
  });
  return status;
} catch (const std::exception& error) {
  fmt::print(stderr, "hex: {}\n", error.what());
  return EXIT_FAILURE;
}
