// SPDX-License-Identifier: MIT
// Command line options that the Hex programs share.
#pragma once

#include <CLI/CLI.hpp>

#include "hex/engine.hpp"

namespace hex {

struct SearchOptions {
  std::size_t size = 11;
  double memory_megabytes = 1024;
  EngineOptions engine;
  mcts::Settings settings;
  mcts::Limits limits;
};

/// Adds them to `app`; `options` holds the defaults.
void add_search_options(CLI::App& app, SearchOptions& options);

/// After parsing: a search needs some limit.
void finish(SearchOptions& options, double default_seconds);

}  // namespace hex
