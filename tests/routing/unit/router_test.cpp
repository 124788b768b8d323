// SPDX-License-Identifier: MIT
// Routers in processes of their own: always the routes of the reference, also without the dead.
#include "routing/router.hpp"

#include "routing/drive.hpp"
#include "routing/support/node.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace routing;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;
using support::RouterNode;

TEST_CASE("routes_equal_the_reference_after_thousands_of_random_changes") {
  const std::uint64_t seed = support::test_seed();
  for (const std::uint32_t routers : {2u, 5u}) {
    CAPTURE(seed, routers);
    const std::uint64_t rounds = 1500;
    ForkJob job(routers, [=](Member& member) {
      const Topology topology = hub_and_ring(member.size);
      RouterNode node(member, topology);
      const RandomReport report = change_at_random(node.router, topology, rounds, seed);
      require(report.wrong.empty(), report.wrong);
      require_equal(report.rounds, rounds, "rounds");
      require(report.changes > rounds * routers / 2, "there were changes");
      member.memory.processes[member.rank].result = report.changes - report.computations;
    });
    CHECK(job.wait(std::chrono::seconds(50)) == "");
    // The point of the predicate: with more routers, most changes need no computation.
    if (routers == 5) CHECK(job.memory().processes[1].result > 0);
  }
}

TEST_CASE("changes_that_matter_to_no_route_cause_no_computation") {
  ForkJob job(3, [](Member& member) {
    Topology topology = hub_and_ring(3);
    RouterNode node(member, topology);
    node.until([&] { return node.router.all_settled(); }, "the first routes");
    node.router.reach(1);
    node.until([&] { return node.router.all_reached(1); }, "all");
    const std::uint64_t before = node.router.computations();
    // The ring link of cost 50 is not used: 20 by the hub.
    if (member.rank == 1) node.router.set_link({2}, 60);
    node.router.reach(2);
    node.until([&] { return node.router.all_reached(2) && node.router.all_settled(); }, "a change");
    require_equal(node.router.computations(), before, "computations");
    // Dearer than the used ones still, but no longer dearer than two of them.
    if (member.rank == 1) node.router.set_link({2}, 19);
    node.router.reach(3);
    node.until([&] { return node.router.all_reached(3) && node.router.all_settled(); }, "another");
    const bool concerns = member.rank == 1;
    require_equal(node.router.computations() - before, concerns ? 1u : 0u, "computations");
    require_equal(node.router.routes().to[2].distance,
                  member.rank == 0   ? 10u
                  : member.rank == 1 ? 19u
                                     : 0u,
                  "distance");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("links_of_a_dead_router_disappear") {
  ForkJob job(4, [](Member& member) {
    const Topology topology = hub_and_ring(4);
    RouterNode node(member, topology);
    node.until([&] { return node.router.all_settled(); }, "the first routes");
    node.router.reach(1);
    node.until([&] { return node.router.all_reached(1); }, "all");
    if (member.rank == 0) ::kill(getpid(), SIGKILL);
    node.until([&] { return !node.router.alive({0}) && node.router.settled(); }, "the death");
    const Routes& routes = node.router.routes();
    require(routes.to[0].distance == kUnreachable, "the hub is gone");
    for (std::uint16_t i = 1; i < 4; ++i) {
      require_equal(routes.to[i].distance, i == member.rank ? 0u : 50u, "by the ring");
    }
    require(check(routes, node.router.costs()).empty(), "as the reference");
    // The others can still be asked to change links, and to count each other as settled.
    if (member.rank == 1) node.router.set_link({2}, 7);
    node.until([&] { return node.router.all_settled(); }, "the survivors");
    node.router.reach(2);
    node.until([&] { return node.router.all_reached(2); }, "all survivors");
  });
  CHECK(job.wait() == "0: signal 9\n");
}

TEST_CASE("the_first_router_asks_owners_to_change_their_links") {
  ForkJob job(3, [](Member& member) {
    const Topology topology = hub_and_ring(3);
    RouterNode node(member, topology);
    node.until([&] { return node.router.all_settled(); }, "the first routes");
    if (member.rank == 0) {
      node.router.request({1}, {2}, 3);
      node.until([&] { return node.router.fulfilled() && node.router.all_settled(); },
                 "the change");
      require_equal(node.router.costs().at({1}, {2}), 3u, "cost");
      require(picture(node.router, topology).find("\"r1\" -> \"r2\" [label=3") != std::string::npos,
              "the picture shows it");
    }
    node.router.reach(1);
    node.until([&] { return node.router.all_reached(1); }, "all");
    if (member.rank == 1) require_equal(node.router.routes().to[2].distance, 3u, "distance");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_topology_for_another_number_of_processes_is_refused") {
  ForkJob job(2, [](Member& member) {
    std::string text;
    try {
      const Topology topology = hub_and_ring(3);
      RouterNode node(member, topology);
    } catch (const dtutils::Error& error) {
      text = error.what();
    }
    require(text.find("3 routers") != std::string::npos, text);
  });
  CHECK(job.wait() == "");
}
