// SPDX-License-Identifier: MIT
// Programs in nodes: their arguments, their place in the job, and their exit status.
#include "simulation/run_main.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "cluster.hpp"
#include "dsfabric/join_host.hpp"
#include "output.hpp"

namespace simulation {
namespace {

/// While it lives, nodes that join do so here.
class Host {
 public:
  Host(Launcher& launcher, const dsfabric::Config& spared) {
    dsfabric::set_join_host([&launcher, spared](dsfabric::Config& config) {
      if (dtutils::Simulation::current() == nullptr) return std::unique_ptr<BoardBootstrap>();
      config = config_of_a_node(std::move(config));
      const dsfabric::Config usual;
      if (config.superpage == usual.superpage) config.superpage = spared.superpage;
      if (config.receive_depth == usual.receive_depth) config.receive_depth = spared.receive_depth;
      return config.alone ? nullptr : launcher.join();
    });
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() { dsfabric::set_join_host({}); }
};

int call_main(Main program, std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& each : arguments) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  return program(static_cast<int>(arguments.size()), pointers.data());
}

}  // namespace

int MainReport::status() const noexcept {
  const auto failed = std::find_if(statuses.begin(), statuses.end(),
                                   [](int status) { return status != 0 && status != -1; });
  if (failed != statuses.end()) return *failed;
  return run.error.empty() && run.trace_error.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

MainReport run_main(std::uint32_t nodes, const Options& options, Main program,
                    const std::vector<std::string>& arguments) {
  MainReport report{{}, std::vector<int>(nodes, -1)};
  Cluster cluster(nodes, options);
  const Host host(cluster.launcher(), options.config);
  const NodeOutput out(stdout, {&std::cout}, nodes);
  const NodeOutput err(stderr, {&std::cerr, &std::clog}, nodes);
  report.run = cluster.run([&](std::uint32_t node) {
    const int status = call_main(program, arguments);
    if (!dtutils::Simulation::current()->crashed(node)) report.statuses[node] = status;
  });
  return report;
}

}  // namespace simulation
