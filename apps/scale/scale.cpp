// SPDX-License-Identifier: MIT
// Measures how operations of the layers grow with the number of nodes, in virtual time.
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <exception>

#include "cases.hpp"
#include "common/command_line.hpp"
#include "report.hpp"

namespace scale {
namespace {

struct Settings {
  std::uint64_t max_nodes = 1024;
  std::uint64_t repetitions = 5;
  std::uint64_t seed = 1;
  std::uint64_t seconds = 300;
  std::string only = "all";
  std::string json;
  bool smoke = false;
};

/// A size takes at most so many times as long as the one before: where each node talks to all.
constexpr double kGrowth = 4;

/// Measures one case at one size after the other, as long as there is time.
void measure(const Case& each, const Settings& settings, Report& report) {
  using Seconds = std::chrono::duration<double>;
  double spent = 0;
  double last = 0;
  const std::uint64_t max_nodes = settings.smoke ? each.few : settings.max_nodes;
  for (std::uint32_t nodes = 2; nodes <= max_nodes; nodes *= 2) {
    if (each.most != 0 && nodes > each.most) return report.end(each.name, std::string(each.why));
    const double left = static_cast<double>(settings.seconds) - spent;
    if (kGrowth * last > left) {
      return report.end(each.name, fmt::format("{} nodes were not measured: they may take {:.0f} s "
                                               "of real time, and {:.0f} of {} s are left",
                                               nodes, kGrowth * last, left, settings.seconds));
    }
    const auto begin = std::chrono::steady_clock::now();
    Cluster cluster{nodes, {}, static_cast<std::uint32_t>(settings.repetitions)};
    cluster.options.cluster.seed = settings.seed;
    // Less than elsewhere, since the nodes share a machine.
    cluster.options.config.superpage = std::size_t{4} << 20;
    cluster.options.config.receive_depth = 64;
    report.add(each.name, nodes, each.measure(cluster));
    last = Seconds(std::chrono::steady_clock::now() - begin).count();
    spent += last;
    fmt::print(stderr, "{}: {} nodes, {:.1f} s\n", each.name, nodes, last);
  }
}

}  // namespace
}  // namespace scale

int main(int argc, char** argv) try {
  scale::Settings settings;
  common::CommandLine line{
      "Measures barriers, gatherings, broadcasts, the detection of termination, tables, calls of "
      "all to all and tree search in simulations of 2, 4, 8, ... nodes, in virtual time, beside "
      "the closed forms of the same model. Writes a report in Markdown; scripts/scale adds the "
      "pictures."};
  line.option("--max-nodes", settings.max_nodes, "Largest number of nodes", 2, 1024)
      .option("--repetitions", settings.repetitions, "Measurements of each", 1, 1000)
      .option("--seed", settings.seed, "The seed of all simulations")
      .option("--seconds", settings.seconds,
              "Real time for each case; sizes that may not fit into it are left out, and named")
      .option("--case", settings.only, "What to measure",
              {"all", "collectives", "table", "all_to_all", "search"})
      .option("--json", settings.json, "All figures, for scripts/plot")
      .flag("--smoke", settings.smoke,
            "A few nodes; fails where a figure is not within a tenth of its closed form");
  if (const auto status = line.parse(argc, argv)) return *status;
  if (settings.smoke) settings.repetitions = 3;
  scale::Report report;
  for (const scale::Case& each : scale::cases()) {
    if (settings.only == "all" || settings.only == each.name) {
      scale::measure(each, settings, report);
    }
  }
  fmt::print("{}", report.markdown());
  if (!settings.json.empty()) report.write_json(settings.json);
  return !settings.smoke || report.all_close() ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  fmt::print(stderr, "scale: {}\n", error.what());
  return EXIT_FAILURE;
}
