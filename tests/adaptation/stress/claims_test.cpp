// SPDX-License-Identifier: MIT
// Two deciders at once, and one that is stopped with a claim.
#include <chrono>
#include <csignal>
#include <vector>

#include "adaptation/support/node_job.hpp"
#include "samples.hpp"
#include "support/catch.hpp"

using namespace adaptation;
using namespace support;
using adaptation::detail::Samples;
using std::chrono::milliseconds;

namespace {

/// Looks twice; when nothing has changed in between, that was one moment, and each site must have a
/// node in it. True when it was.
bool watch(Samples& samples) {
  std::vector<std::uint32_t> changes;
  for (const NodeView& node : samples.nodes()) {
    changes.push_back(samples.place(node.process).changes);
  }
  samples.take_places();
  bool has[2] = {false, false};
  for (const NodeView& node : samples.nodes()) {
    if (changes[node.process.value] != samples.place(node.process).changes) return false;
    if (node.present) has[node.site.value] = true;
  }
  require(has[0] && has[1], "each site keeps a node at any moment");
  return true;
}

}  // namespace

TEST_CASE("two_deciders_at_once_leave_a_site_its_minimum") {
  ForkJob job(6, [](Member& member) {
    enum { kReady, kOver, kMoves, kLoads };
    auto& words = member.memory.words;
    dsfabric::Fabric fabric = member.join(one_worker());
    if (member.rank >= 3) {
      Node node(fabric, kSites, {static_cast<std::uint8_t>(member.rank % 2)});
      meet(member, fabric, kReady);
      serve_until(member, node, kOver, kLoads);
      return;
    }
    DeciderOptions options = eager();
    options.samples = 1;
    options.settle = options.memory = milliseconds(0);
    words[kLoads] = 1000, words[kLoads + 1] = 1;
    if (member.rank == 2) {
      meet(member, fabric, kReady);
      Samples samples(fabric, detail::check(kSites), options);
      samples.take(Samples::Clock::now());
      std::uint64_t pictures = 0;
      require(eventually([&] {
                pictures += watch(samples);
                return words[kMoves] >= 200 && pictures >= 100;
              }),
              "200 moves and 100 pictures");
      words[kOver] = 1;
      return;
    }
    meet(member, fabric, kReady);
    Decider decider(fabric, kSites, options);
    require(eventually([&] {
              if (decider.step() == Outcome::kMoved) {
                ++words[kMoves];
                // The other site is the loaded one now.
                const std::uint64_t first = words[kLoads];
                words[kLoads] = words[kLoads + 1].load();
                words[kLoads + 1] = first;
              }
              return words[kOver] != 0;
            }),
            "enough was seen");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("the_claim_of_a_decider_that_is_stopped_is_taken_away_and_it_cannot_confirm_it") {
  enum { kReady, kFound, kClaimed, kSeen, kOver, kLoads };
  ForkJob job(4, [](Member& member) {
    auto& words = member.memory.words;
    dsfabric::Fabric fabric = member.join(one_worker());
    if (member.rank >= 2) {
      Node node(fabric, kSites, {1});
      meet(member, fabric, kReady);
      serve_until(member, node, kOver, kLoads);
      return;
    }
    if (member.rank == 1) {
      // The first half of Decider::step.
      meet(member, fabric, kReady);
      Samples samples(fabric, detail::check(kSites), eager());
      // While the other one asks for nodes, it must be there to answer.
      require(eventually([&] {
                fabric.progress();
                return words[kFound] != 0;
              }),
              "the other one knows the nodes");
      samples.take(Samples::Clock::now());
      require(samples.change({2}, samples.place({2}).claim_for({0})) == Samples::Changed::kYes,
              "it claims the node");
      words[kClaimed] = 1;
      std::raise(SIGSTOP);
      require(samples.change({2}, samples.place({2}).confirm()) == Samples::Changed::kNo,
              "its claim is no longer there");
      words[kSeen] = 1;
      return;
    }
    words[kLoads] = 0, words[kLoads + 1] = 0;
    meet(member, fabric, kReady);
    Decider decider(fabric, kSites, eager());
    words[kFound] = 1;
    require(eventually([&] { return words[kClaimed] == 1; }), "there is a claim");
    // Site 0 has no nodes: one of the two is wanted there, and either may go.
    step_until(
        decider, [&] { return serving(decider, 0) == 1 && !decider.nodes()[2].claimed; },
        "one has moved");
    words[kClaimed] = 2;
    require(eventually([&] { return words[kSeen] == 1; }), "the stopped one has seen it");
    decider.look();
    require_equal(serving(decider, 0), 1u, "and nothing else has moved");
    words[kOver] = 1;
  });
  CHECK(eventually([&] { return job.memory().words[kClaimed] == 2; }));
  job.resume(1);
  CHECK(job.wait() == "");
}
