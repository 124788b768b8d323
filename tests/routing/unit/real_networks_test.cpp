// SPDX-License-Identifier: MIT
// Networks as they were built: links change and break at random, and a router dies.
#include "routing/drive.hpp"
#include "routing/support/node.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace routing;
using support::ForkJob;
using support::Member;
using support::require;
using support::RouterNode;

namespace {

void change_and_check(RouterNode& node, const Topology& topology, std::uint64_t seed) {
  constexpr std::uint64_t kRounds = 60;
  const RandomReport report = change_at_random(node.router, topology, kRounds, seed);
  require(report.wrong.empty(), report.wrong);
  support::require_equal(report.rounds, kRounds, "rounds");
  require(report.changes > kRounds, "there were changes");
}

}  // namespace

TEST_CASE("routes_of_real_networks_equal_the_reference_with_and_without_a_death") {
  const std::uint64_t seed = support::test_seed();
  support::Random random(seed);
  const auto [name, routers, links] = GENERATE(table<const char*, std::uint32_t, std::size_t>(
      {{"abilene", 11, 14}, {"nsfnet", 14, 21}, {"claranet", 15, 18}}));
  const Topology topology = read_topology(std::string(CARIAMA_TEST_TOPOLOGIES "/") + name + ".txt");
  REQUIRE(topology.size() == routers);
  REQUIRE(topology.links.size() == 2 * links);
  const auto victim = static_cast<std::uint32_t>(random.below(routers));
  CAPTURE(seed, name, victim);
  ForkJob job(routers, [=](Member& member) {
    RouterNode node(member, topology);
    change_and_check(node, topology, seed);
    if (member.rank == victim) ::kill(getpid(), SIGKILL);
    const RouterId dead{static_cast<std::uint16_t>(victim)};
    node.until([&] { return !node.router.alive(dead); }, "the death");
    change_and_check(node, topology, seed + 1);
  });
  CHECK(job.wait(std::chrono::seconds(40)) == std::to_string(victim) + ": signal 9\n");
}
