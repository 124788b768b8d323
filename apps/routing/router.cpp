// SPDX-License-Identifier: MIT
// One router a process: commands from a script or the keyboard, random changes, measurements.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/figures.hpp"
#include "dtutils/error.hpp"
#include "routing/drive.hpp"
#include "simulation/cariama_main.hpp"

namespace {

using namespace routing;

struct Options {
  std::string topology;
  std::uint64_t random = 0;
  std::uint64_t seed = 1;
  std::uint64_t measure = 0;
  std::string script;
  bool typed = false;
  std::string picture;
  std::string json;
};

/// The end of a program of commands, for the others: a step that no random round comes to.
constexpr std::uint64_t kEnd = std::uint64_t{1} << 62;

class Program {
 public:
  Program(dsfabric::Fabric& fabric, const Options& options)
      : options_(options),
        topology_(options.topology.empty() ? hub_and_ring(fabric.processes())
                                           : read_topology(options.topology)),
        group_(fabric),
        router_(group_, topology_),
        pace_(fabric) {}

  void run() {
    until([&] { return router_.all_settled(); }, "the first routes");
    if (leads()) {
      fmt::print("{} routers, {} links\n", topology_.size(), topology_.links.size());
    }
    if (options_.random != 0) change_randomly();
    if (options_.measure != 0) measure();
    if (!options_.script.empty() || options_.typed) follow_commands();
    if (leads() && !options_.picture.empty()) {
      std::ofstream(options_.picture) << picture(router_, topology_);
    }
    if (leads() && !options_.json.empty()) common::write_json(options_.json, report_);
    finish(kEnd + 2);
  }

 private:
  bool leads() const { return router_.id() == RouterId{0}; }
  void until(const std::function<bool()>& done, const char* what) {
    evaluate_until(router_, pace_, done, what);
  }
  /// All come to the same point; patiently, as router 0 may wait for somebody who types.
  void finish(std::uint64_t step) {
    router_.reach(step);
    while (!router_.all_reached(step)) pace_.after(router_.evaluate());
  }

  void change_randomly() {
    const RandomReport report =
        change_at_random(router_, topology_, options_.random, options_.seed);
    if (!report.wrong.empty()) {
      throw dtutils::Error("routes", report.wrong,
                           fmt::format("repeat with --seed {}", options_.seed));
    }
    if (!leads()) return;
    fmt::print("{} rounds, {} changes, {} computations here: all routes as the reference\n",
               report.rounds, report.changes, report.computations);
    report_.push_back({"random", common::Figures{{"rounds", report.rounds},
                                                 {"changes", report.changes},
                                                 {"computations", report.computations},
                                                 {"seed", options_.seed}}});
  }

  void measure() {
    finish(kEnd);
    if (leads()) {
      std::vector<double> first, all, computing;
      for (std::uint64_t i = 0; i < options_.measure; ++i) {
        const Reconvergence one = reconverge(router_, pace_, {1}, i % 2 == 0 ? 11 : 10);
        first.push_back(one.first_ns);
        all.push_back(one.all_ns);
        computing.push_back(one.computing_ns);
      }
      const auto median = [](std::vector<double>& values) {
        std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
        return values[values.size() / 2];
      };
      fmt::print(
          "one link changed {} times: first other router {:.0f} ns, all {:.0f} ns, of which "
          "computing {:.0f} ns (medians)\n",
          all.size(), median(first), median(all), median(computing));
      report_.push_back({"reconvergence", common::Figures{{"first_ns", median(first)},
                                                          {"all_ns", median(all)},
                                                          {"computing_ns", median(computing)}}});
    }
    finish(kEnd + 1);
  }

  /// Router 0 reads them; links are changed by their owners, whom it asks through the table.
  void follow_commands() {
    if (!leads()) return;
    std::ifstream file(options_.script);
    std::istream& in = options_.script.empty() ? std::cin : file;
    if (!in) throw dtutils::Error(options_.script, "it cannot be read", "name a script");
    std::string line;
    while (std::getline(in, line)) command(line.substr(0, line.find('#')));
  }
  void command(const std::string& line) {
    std::istringstream words(line);
    std::string verb, from, to;
    Cost cost = kNoLink;
    if (!(words >> verb >> from)) return;
    const auto router = [&](const std::string& name) {
      const auto found = topology_.find(name);
      if (!found) throw dtutils::Error("\"" + line + "\"", "no router " + name, "see the topology");
      return *found;
    };
    if (verb == "routes") {
      print_routes(router(from));
    } else if ((verb == "set" && words >> to >> cost && cost >= 1 && cost <= kMaxCost) ||
               (verb == "cut" && words >> to)) {
      router_.request(router(from), router(to), cost);
      until([&] { return router_.fulfilled() && router_.all_settled(); }, "the change");
      fmt::print("{}: all routers have new routes\n", line);
    } else {
      throw dtutils::Error("\"" + line + "\"", "that is no command",
                           "write set FROM TO COST, cut FROM TO, or routes ROUTER");
    }
  }
  void print_routes(RouterId from) const {
    const Routes routes = shortest_paths(router_.costs(), from);
    for (std::uint16_t i = 0; i < router_.size(); ++i) {
      const Routes::Route& route = routes.to[i];
      if (RouterId{i} == from) continue;
      const std::string& name = topology_.names[from.value];
      if (route.distance == kUnreachable) {
        fmt::print("{} -> {}: no way\n", name, topology_.names[i]);
      } else {
        fmt::print("{} -> {}: {} by {}\n", name, topology_.names[i], route.distance,
                   topology_.names[route.first_step.value]);
      }
    }
  }

  const Options& options_;
  Topology topology_;
  sst::TableGroup group_;
  Router router_;
  sst::Pace pace_;
  common::Figures report_;
};

}  // namespace

int cariama_main(int argc, char** argv) try {
  Options options;
  dsfabric::Config config;
  common::CommandLine line{
      "OSPF-like routers, one a process, that share their link states in a table."};
  line.option("--topology", options.topology,
              "Edge list or GraphML; without it a hub and a ring of all processes")
      .option("--random", options.random, "Rounds of random changes, each checked")
      .option("--seed", options.seed, "Of the random changes")
      .option("--measure", options.measure, "Change a link so often, and time it")
      .option("--script", options.script, "Commands: set FROM TO COST, cut FROM TO, routes ROUTER")
      .flag("--typed", options.typed, "Read commands from standard input")
      .option("--picture", options.picture, "Write links and routes of router 0 for Graphviz")
      .option("--json", options.json, "Write the figures to this file");
  if (const auto status = line.parse(argc, argv, config)) return *status;
  dsfabric::Fabric fabric = dsfabric::join(config);
  Program(fabric, options).run();
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "router: {}\n", error.what());
  return EXIT_FAILURE;
}
