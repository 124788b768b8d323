// SPDX-License-Identifier: MIT
// Nodes in several processes, moved by a decider in another one; deaths; rates as loads.
#include <chrono>
#include <csignal>
#include <optional>
#include <string>

#include "adaptation/support/node_job.hpp"
#include "support/catch.hpp"

using namespace adaptation;
using namespace support;

TEST_CASE("nodes_follow_the_load_and_come_back") {
  ForkJob job(5, [](Member& member) {
    enum { kReady, kOver, kGone, kLoads };
    auto& words = member.memory.words;
    dsfabric::Fabric fabric = member.join(one_worker());
    if (member.rank != 0) {
      Node node(fabric, kSites, {static_cast<std::uint8_t>(member.rank % 2)});
      meet(member, fabric, kReady);
      serve_until(member, node, kOver, kLoads);
      meet(member, fabric, kGone);
      return;
    }
    words[kLoads] = 10, words[kLoads + 1] = 10;
    meet(member, fabric, kReady);
    Decider decider(fabric, kSites, eager());
    for (int i = 0; i < 10; ++i) require(decider.step() != Outcome::kMoved, "loads are equal");
    for (const std::uint8_t loaded : {1, 0, 1}) {
      words[kLoads + loaded] = 1000, words[kLoads + 1 - loaded] = 1;
      step_until(
          decider, [&] { return serving(decider, loaded) == 3; }, "three serve the loaded site");
      require_equal(serving(decider, 1 - loaded), 1u, "the other one keeps its minimum");
    }
    words[kOver] = 1;
    meet(member, fabric, kGone);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_node_that_dies_is_replaced_from_the_other_site") {
  enum { kReady, kOver, kFound, kLoads };
  ForkJob job(5, [](Member& member) {
    auto& words = member.memory.words;
    dsfabric::Fabric fabric = member.join(one_worker());
    if (member.rank != 0) {
      Node node(fabric, kSites, {static_cast<std::uint8_t>(member.rank == 1 ? 0 : 1)});
      meet(member, fabric, kReady);
      if (member.rank == 1) {
        require(eventually([&] { return words[kFound] != 0; }), "it is known");
        std::raise(SIGKILL);
      }
      serve_until(member, node, kOver, kLoads);
      return;
    }
    words[kLoads] = 0, words[kLoads + 1] = 0;
    meet(member, fabric, kReady);
    Decider decider(fabric, kSites, eager());
    words[kFound] = 1;
    step_until(
        decider, [&] { return serving(decider, 0) == 1 && serving(decider, 1) == 2; },
        "one of three has taken its place");
    require(!decider.nodes()[1].present, "the dead one is none");
    words[kOver] = 1;
  });
  const std::string end = job.wait();
  CAPTURE(end);
  CHECK(end.find("0: ") == std::string::npos);
}

TEST_CASE("a_total_is_a_load_by_its_rate") {
  ForkJob job(3, [](Member& member) {
    enum { kReady, kOver };
    auto& words = member.memory.words;
    dsfabric::Fabric fabric = member.join(one_worker());
    if (member.rank != 0) {
      Node node(fabric, kSites, {static_cast<std::uint8_t>(member.rank - 1)});
      monitoring::Counter requests = monitoring::Board(fabric).counter("requests");
      meet(member, fabric, kReady);
      require(eventually([&] {
                if (member.rank == 1) requests.add(1000);
                return words[kOver] != 0;
              }),
              "the decider has finished");
      return;
    }
    DeciderOptions options = eager();
    options.load_counter = "requests";
    meet(member, fabric, kReady);
    Decider decider(fabric, kSites, options);
    require(eventually([&] {
              decider.look();
              return decider.load({0}) > 0;
            }),
            "one has a load");
    require_equal(decider.load({1}), 0.0, "the other has none");
    words[kOver] = 1;
  });
  CHECK(job.wait() == "");
}

// Whoever dies keeps names of some nodes: each process once, so that each name was lost once.
TEST_CASE("nodes_whose_names_died_with_their_keeper_are_found_by_new_deciders") {
  constexpr std::uint32_t kProcesses = 5;
  constexpr std::size_t kKnown = 0, kDone = 1, kFirst = 2;
  for (std::uint32_t victim = 0; victim < kProcesses; ++victim) {
    ForkJob job(kProcesses, [&](Member& member) {
      dsfabric::Fabric fabric = member.join(one_worker());
      const bool early = member.rank % 2 == 0;
      std::optional<Node> node;
      if (early) node.emplace(fabric, kSites, SiteId{0});
      meet(member, fabric, kFirst);
      const dsfabric::ProcessId dead{static_cast<std::uint16_t>(victim)};
      require(eventually([&] { return fabric.failed(dead); }), "the death is noticed");
      // A process can become a node, though nobody keeps its name.
      if (!early) node.emplace(fabric, kSites, SiteId{1});
      member.memory.words[kKnown]++;
      require(eventually([&] { return member.memory.words[kKnown] == kProcesses - 1; }),
              "all are nodes");
      Decider decider(fabric, kSites, eager());
      decider.step();
      for (const NodeView& view : decider.nodes()) {
        require_equal(view.present, view.process != dead,
                      "node " + std::to_string(view.process.value));
      }
      member.memory.words[kDone]++;
      require(eventually([&] { return member.memory.words[kDone] == kProcesses - 1; }), "all saw");
    });
    require(eventually([&] { return job.memory().words[kFirst] >= kProcesses; }), "all are there");
    job.kill(victim);
    CHECK(job.wait() == std::to_string(victim) + ": signal 9\n");
  }
}
