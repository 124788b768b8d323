// SPDX-License-Identifier: MIT
// The main of programs with a cariama_main, and what cariama-simulate tells it.
#include "simulation/enter.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <vector>

#include "dsfabric/config.hpp"
#include "dtutils/error.hpp"
#include "dtutils/parse_number.hpp"
#include "simulation/model.hpp"
#include "simulation/run_main.hpp"

namespace simulation {
namespace {

constexpr std::string_view kPrefix = "--cariama-simulate-";

struct Settings {
  std::uint32_t nodes = 4;
  std::uint64_t seed = 1;
  bool swarm = false;
  bool calm = false;
  bool visible_threads = false;
  std::string trace;
  std::string model;
};

template <class Number>
void read(std::string_view argument, std::string_view text, Number& value) {
  const auto number = dtutils::parse_number<Number>(text);
  if (!number) {
    throw dtutils::Error(fmt::format("argument {}", argument), "its value is no such number",
                         "let scripts/simulate (cariama-simulate) write it");
  }
  value = *number;
}

/// Takes one argument; `name` has no prefix any more.
void take(std::string_view argument, std::string_view name, Settings& settings) {
  const std::size_t equals = name.find('=');
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : name.substr(equals + 1);
  name = name.substr(0, equals);
  if (name == "nodes") return read(argument, value, settings.nodes);
  if (name == "seed") return read(argument, value, settings.seed);
  if (name == "swarm") return (void)(settings.swarm = true);
  if (name == "visible-threads") return (void)(settings.visible_threads = true);
  if (name == "trace") return (void)(settings.trace = value);
  if (name == "model") return (void)(settings.model = value);
  if (name == "calm") return (void)(settings.calm = true);
  throw dtutils::Error(fmt::format("argument {}", argument), "there is no such setting",
                       "use a cariama-simulate of the version that the program was built with");
}

int simulate(const Settings& settings, Main program, const std::vector<std::string>& arguments) {
  Options options;
  options.cluster.seed = settings.seed;
  options.cluster.model = read_model(settings.model);
  options.cluster.visible_threads = settings.visible_threads;
  // Less than elsewhere, since the nodes share a machine.
  options.config.superpage = std::size_t{4} << 20;
  options.config.receive_depth = 64;
  std::string drawn;
  if (settings.swarm) {
    Swarm swarm = draw(settings.seed, settings.nodes, options, !settings.calm);
    options = std::move(swarm.options);
    drawn = "; " + swarm.description;
  }
  options.cluster.trace = settings.trace;
  const MainReport report = run_main(settings.nodes, options, program, arguments);
  const dtutils::SimulationReport& run = report.run;
  if (!run.error.empty()) fmt::print(stderr, "simulation: {}\n", run.error);
  fmt::print(stderr, "simulated {} nodes, seed {}{}: digest {:016x}, {} events, {:.3f} ms\n",
             settings.nodes, settings.seed, drawn, run.digest, run.events,
             static_cast<double>(run.time.count()) / 1e6);
  if (!run.trace_error.empty()) fmt::print(stderr, "simulation: {}\n", run.trace_error);
  // Threads of nodes that never end still look at what main would destroy.
  if (!run.error.empty()) {
    std::fflush(nullptr);
    _exit(report.status());
  }
  return report.status();
}

}  // namespace

int enter(int argc, char** argv, Main program) {
  Settings settings;
  int first = 1;
  try {
    for (; first < argc && std::string_view(argv[first]).starts_with(kPrefix); ++first) {
      const std::string_view argument = argv[first];
      take(argument, argument.substr(kPrefix.size()), settings);
    }
    if (first > 1) {
      std::vector<std::string> arguments(argv + first, argv + argc);
      arguments.insert(arguments.begin(), argv[0]);
      return simulate(settings, program, arguments);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "simulation: {}\n", error.what());
    return EXIT_FAILURE;
  }
  return program(argc, argv);
}

int enter_with_settings_only(int argc, char** argv, Main program) {
  const std::string_view path = argv[0];
  const std::string_view name = path.substr(path.rfind('/') + 1);
  // Without those of cariama-simulate. configure() takes out of the copy what it knows.
  std::vector<char*> others;
  for (int i = 0; i < argc; ++i) {
    if (i == 0 || !std::string_view(argv[i]).starts_with(kPrefix)) others.push_back(argv[i]);
  }
  auto count = static_cast<int>(others.size());
  others.push_back(nullptr);
  try {
    (void)dsfabric::configure(count, others.data());
  } catch (const dtutils::Error& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 2;
  }
  if (count == 1) return enter(argc, argv, program);
  const std::string_view argument = others[1];
  if (argument == "--help" || argument == "-h") {
    fmt::print("Usage: {} [--cariama-NAME=VALUE ...]\n\n{}", name, dsfabric::describe_settings());
    return EXIT_SUCCESS;
  }
  fmt::print(stderr, "{}: argument {}: this program takes settings only; --help lists them\n", name,
             argument);
  return 2;
}

}  // namespace simulation
