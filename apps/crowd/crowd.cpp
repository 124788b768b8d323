// SPDX-License-Identifier: MIT
// What a crowd of nodes does at least: barriers, and calls to neighbours.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <utility>
#include <vector>

#include "common/command_line.hpp"
#include "dsfabric/dsfabric.hpp"
#include "simulation/cariama_main.hpp"

namespace {

/// The answers of the neighbours that were right.
std::uint64_t call_neighbours(dsfabric::Thread& self, int neighbours) {
  dsfabric::SendChannel calls(self.fabric());
  std::vector<dsfabric::RemoteFuture<std::uint64_t>> answers;
  const std::uint64_t me = self.id().process.value;
  for (int distance = 1; distance <= neighbours; ++distance) {
    answers.push_back(
        calls.call_return(self.neighbour(distance), [me] { return std::uint64_t{me + 1}; }));
  }
  std::uint64_t right = 0;
  for (auto& answer : answers) right += answer.get() == me + 1 ? 1 : 0;
  return right;
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  std::uint64_t barriers = 100;
  std::uint64_t neighbours = 8;
  dsfabric::Config config;
  config.threads = 1;
  common::CommandLine line{"Barriers, and then an 8-byte call with an answer to each neighbour."};
  line.option("--barriers", barriers, "Barriers", 0, 1'000'000)
      .option("--neighbours", neighbours, "Workers behind this one that it calls", 0, 1'000);
  if (const auto status = line.parse(argc, argv, config)) return *status;
  dsfabric::Fabric fabric = dsfabric::join(config);
  bool right = true;
  fabric.run([&](dsfabric::Thread& self) {
    for (std::uint64_t i = 0; i < barriers; ++i) self.barrier();
    const std::uint64_t answers =
        self.all_reduce(call_neighbours(self, static_cast<int>(neighbours)));
    const std::uint32_t workers = self.fabric().total_threads();
    if (answers != neighbours * workers) right = false;
    if (self.id() != dsfabric::ThreadId{}) return;
    fmt::print("{} workers, {} barriers, {} answers\n", workers, barriers, answers);
  });
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  fmt::print(stderr, "crowd: {}\n", error.what());
  return EXIT_FAILURE;
}
