// SPDX-License-Identifier: MIT
// hex-gtp: the search for graphical interfaces and other programs, by the Go Text Protocol.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <iostream>

#include "common/command_line.hpp"
#include "hex/gtp.hpp"
#include "hex/options.hpp"

int main(int argc, char** argv) try {
  hex::SearchOptions search;
  dsfabric::Config config;
  if (const auto status = common::read_settings(argc, argv, config)) return *status;
  CLI::App app{"Plays Hex by the Go Text Protocol, version 2, on stdin and stdout.", "hex-gtp"};
  app.footer(dsfabric::describe_settings());
  hex::add_search_options(app, search);
  bool no_swap = false;
  app.add_flag("--no-swap", no_swap, "without the swap rule");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? EXIT_SUCCESS : 2;
  }
  hex::finish(search, 5.0);
  search.engine.largest = games::kMaxHexSize;  // boardsize may ask for any
  dsfabric::Fabric fabric = dsfabric::join(config);
  with_engine(fabric, search.engine, [&](hex::Engine& engine) {
    hex::Gtp gtp(engine, {search.size, !no_swap, search.settings, search.limits}, std::cin,
                 std::cout);
    gtp.run();
  });
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "hex-gtp: {}\n", error.what());
  return EXIT_FAILURE;
}
