// SPDX-License-Identifier: MIT
// Reporters of simulated processes, which programs outside of the simulation do not find.
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "monitoring/monitoring.hpp"
#include "simulation/simulation.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

TEST_CASE("reporters_of_a_simulation_are_not_found_by_the_machine") {
  const dtutils::SimulationReport report = simulation::run(2, {}, [](dsfabric::Fabric& fabric) {
    fabric.run([](dsfabric::Thread& self) {
      const monitoring::Reporter reporter(self.fabric());
      self.barrier();
      const auto found = monitoring::find_reporters();
      const auto here = static_cast<std::uint64_t>(getpid());
      support::require(std::find(found.begin(), found.end(), here) == found.end(), "it was found");
      self.barrier();
    });
  });
  CHECK(report.error.empty());
}
