// SPDX-License-Identifier: MIT
// Options of a search on the command line.
#include "hex/options.hpp"

#include <cmath>
#include <map>
#include <string>

namespace hex {

void add_search_options(CLI::App& app, SearchOptions& options) {
  mcts::Settings& settings = options.settings;
  mcts::Limits& limits = options.limits;
  options.engine.channel = channel_names().front();
  app.add_option("--size", options.size, "rows of the board")
      ->check(CLI::Range(std::size_t{1}, games::kMaxHexSize))
      ->capture_default_str();
  app.add_option("--seconds", limits.seconds, "time for a move")->check(CLI::PositiveNumber);
  app.add_option("--rollouts", limits.rollouts, "rollouts for a move, at most")
      ->check(CLI::PositiveNumber);
  app.add_option("--phase", limits.phase, "rollouts after which all workers meet")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--playouts", settings.playouts, "random playouts at each new leaf")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--exploration", settings.exploration,
                 "the constant of UCB; without it 0 with RAVE, else 0.07")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--rave", settings.rave,
                 "visits that playouts count at most in which a move was made later; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--virtual-loss", settings.virtual_loss,
                 "share of a rollout under way that counts as lost, with RAVE")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--window", settings.window,
                 "rollouts under way for each worker; 0: few at first, more as the tree grows")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  const std::map<std::string, mcts::Spread> spreads{{"auto", mcts::Spread::kAuto},
                                                    {"leaves", mcts::Spread::kLeaves},
                                                    {"near", mcts::Spread::kNear},
                                                    {"uniform", mcts::Spread::kUniform}};
  // Not by a transformer: it would show the values, which are no text, in --help.
  app.add_option_function<std::string>(
         "--spread", [&, spreads](const std::string& name) { settings.spread = spreads.at(name); },
         "what other processes get: simulations of leaves; nodes, near their parents or at "
         "random; auto: leaves in small jobs, else near")
      ->check(CLI::IsMember(spreads))
      ->default_str("auto");
  app.add_option("--root-share", settings.root_share,
                 "if uniform: nodes for a worker of process 0, for each of another worker")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "of all random choices")->capture_default_str();
  app.add_option("--memory", options.memory_megabytes, "megabytes of tree in each process, at most")
      ->check(CLI::Range(1.0, 200'000.0))
      ->capture_default_str();
  app.add_option("--calls", options.engine.channel, "how calls travel")
      ->check(CLI::IsMember(channel_names()))
      ->capture_default_str();
  app.add_flag("--always-call", settings.always_call,
               "make each step a call, even between threads of one process");
}

void finish(SearchOptions& options, double default_seconds) {
  constexpr double kMegabyte = 1024 * 1024;
  options.engine.memory = static_cast<std::size_t>(options.memory_megabytes * kMegabyte);
  options.engine.largest = options.size;
  const bool unlimited = options.limits.rollouts == mcts::Limits{}.rollouts;
  if (std::isinf(options.limits.seconds) && unlimited) options.limits.seconds = default_seconds;
}

}  // namespace hex
