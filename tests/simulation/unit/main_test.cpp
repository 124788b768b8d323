// SPDX-License-Identifier: MIT
// Programs that are entered once a node: arguments, join(), exit status, output.
#include <fmt/format.h>

#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "simulation/run_main.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

using simulation::MainReport;

namespace {

/// What is asked of each program in its last argument.
int program_of_many_ways(int argc, char** argv) {
  const std::string way = argv[argc - 1];
  if (way == "throws") throw std::runtime_error("no way");
  // As programs do: the fabric takes its arguments away, here only those of this node.
  dsfabric::Config config;
  config.device = "shm";
  dsfabric::Fabric fabric = dsfabric::join(argc, argv, config);
  if (argc != 2) return 90;
  int sum = 0;
  fabric.run([&](dsfabric::Thread& self) {
    sum = static_cast<int>(self.all_reduce(std::uint64_t{1} + self.id().process.value));
  });
  if (way == "prints") {
    fmt::print("from {}", fabric.process().value);
    std::cout << " by " << fabric.launched_by() << std::endl;
  }
  if (way == "workers") return static_cast<int>(fabric.total_threads());
  if (way == "last fails") return fabric.process().value == 2 ? 7 : 0;
  return sum;
}

MainReport run(const std::string& way, std::uint32_t nodes = 3) {
  simulation::Options options;
  options.config.superpage = std::size_t{4} << 20;
  return simulation::run_main(nodes, options, program_of_many_ways,
                              {"program", "--cariama-threads=2", way});
}

}  // namespace

TEST_CASE("program_joins_in_each_node_and_returns_its_status") {
  CHECK(run("sums").statuses == std::vector<int>{12, 12, 12});
  CHECK(run("sums").status() == 12);
  CHECK(run("workers", 4).statuses == std::vector<int>{8, 8, 8, 8});
  const MainReport last = run("last fails");
  CHECK(last.statuses == std::vector<int>{0, 0, 7});
  CHECK(last.status() == 7);
  CHECK(last.run.error == "");
}

TEST_CASE("program_that_throws_is_reported_with_its_node") {
  const MainReport report = run("throws");
  CHECK(report.run.error == "node 0: no way");
  CHECK(report.statuses == std::vector<int>{-1, -1, -1});
  CHECK(report.status() == 1);
}

TEST_CASE("output_of_programs_is_in_the_digest") {
  const MainReport silent = run("silent");
  const MainReport prints = run("prints");
  CHECK(prints.run.digest != silent.run.digest);
  CHECK(prints.run.digest == run("prints").run.digest);
  CHECK(prints.run.time == silent.run.time);
}

TEST_CASE("program_outside_of_a_simulation_joins_as_before") {
  CHECK(run("sums").status() == 12);
  dsfabric::Config config;
  config.device = "shm";
  config.alone = true;
  const dsfabric::Fabric fabric = dsfabric::join(config);
  CHECK(fabric.processes() == 1);
}
