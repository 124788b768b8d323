// SPDX-License-Identifier: MIT
// Which cores and zones the workers of a process get.
#include "job/placement.hpp"

#include "dtutils/error.hpp"
#include "support/catch.hpp"

using dsfabric::Config;
using dsfabric::place_workers;
using dsfabric::PlacedCore;

namespace {

/// Four cores in zone 0, four in zone 1.
std::vector<PlacedCore> eight_cores() {
  std::vector<PlacedCore> cores;
  for (int core = 0; core < 8; ++core) {
    cores.push_back({core, {static_cast<std::uint16_t>(core / 4)}});
  }
  return cores;
}

}  // namespace

TEST_CASE("a_process_alone_gets_a_worker_for_each_core") {
  const auto placement = place_workers({}, eight_cores(), 0, 1);
  CHECK(placement.cores == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(placement.zones.size() == 2);
}

TEST_CASE("processes_of_a_machine_share_its_cores") {
  const auto first = place_workers({}, eight_cores(), 0, 2);
  const auto second = place_workers({}, eight_cores(), 1, 2);
  CHECK(first.cores == std::vector<int>{0, 1, 2, 3});
  CHECK(second.cores == std::vector<int>{4, 5, 6, 7});
  CHECK(second.zones == std::vector<dtutils::NumaZone>{{1}});
  CHECK(second.worker_zones.at(3) == dtutils::NumaZone{1});
}

TEST_CASE("more_workers_than_cores_are_not_pinned") {
  Config config;
  config.threads = 3;
  const auto placement = place_workers(config, eight_cores(), 5, 8);
  CHECK(placement.cores.empty());
  CHECK(placement.worker_zones.size() == 3);
  CHECK(placement.worker_zones.front() == dtutils::NumaZone{1});
}

TEST_CASE("more_processes_than_cores_have_one_worker_each") {
  for (std::uint32_t rank = 0; rank < 20; ++rank) {
    CHECK(place_workers({}, eight_cores(), rank, 20).worker_zones.size() == 1);
  }
}

TEST_CASE("a_zone_that_is_named_gives_memory_even_without_workers") {
  Config config;
  config.threads = 1;
  config.zones = {0, 1};
  const auto placement = place_workers(config, eight_cores(), 0, 1);
  CHECK(placement.zones == std::vector<dtutils::NumaZone>{{0}, {1}});
}

TEST_CASE("more_workers_than_a_thread_id_can_name_are_refused") {
  Config config;
  config.threads = 65'535;
  CHECK_THROWS_AS(place_workers(config, eight_cores(), 0, 1), dtutils::Error);
}
