// SPDX-License-Identifier: MIT
// Streams of a state to one process after the other, whose bytes leave the same member.
#include "state_stream.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "dtutils/wait.hpp"
#include "groups/groups.hpp"
#include "simulation/simulation.hpp"
#include "simulation/support/with_seed.hpp"
#include "support/catch.hpp"

using groups::detail::Door;
using groups::detail::StateSink;
using groups::detail::StateSource;

namespace {

constexpr std::size_t kBytes = 50'000;

/// The state of a process is made of its number.
std::vector<std::byte> state_of(std::uint16_t process) {
  return std::vector<std::byte>(kBytes, std::byte(process));
}

/// Member 0 begins to bring process 1 up to date, gives up, and turns to process 2 at once.
void give(Door& door, const std::array<bool, 3>& ended) {
  StateSource source(door);
  source.begin({1}, 1, 1, 1, state_of(1));
  source.pump();
  source.give_up();
  source.begin({2}, 1, 1, 1, state_of(2));
  while (!ended[1] || !ended[2]) {
    if (!source.pump()) dtutils::give_way();
  }
}

/// What is wrong with the state that comes, if any does before the donor gives up.
std::string take(Door& door) {
  StateSink sink(door);
  sink.begin({0}, 1);
  while (!sink.given_up()) {
    if (!sink.poll()) dtutils::give_way();
    if (const auto record = sink.next()) {
      const std::vector<std::byte> expected = state_of(door.self().value);
      return std::ranges::equal(record->bytes, expected) ? "" : "bytes of another state";
    }
    sink.give_back();
  }
  return door.self().value == 1 ? "" : "the state did not come";
}

}  // namespace

TEST_CASE("a_stream_that_was_given_up_takes_no_bytes_of_the_next_one") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::array<bool, 3> ended{};
    std::array<std::string, 3> wrong;
    simulation::Options options = support::with_seed(seed);
    options.cluster.disorder.lost = 3;
    const auto report = simulation::run(3, options, [&](dsfabric::Fabric& fabric) {
      const std::uint16_t me = fabric.process().value;
      sst::TableGroup tables(fabric);
      Door door(tables, {.members = {{0}}, .max_message = 16});
      me == 0 ? give(door, ended) : void(wrong[me] = take(door));
      ended[me] = true;
    });
    INFO("seed " << seed);
    CHECK(report.error == "");
    CHECK(wrong == std::array<std::string, 3>{});
  }
}
