// SPDX-License-Identifier: MIT
// A router dies in the middle of telling of its changes: the others still count each other as
// settled.
#include <thread>

#include "dsfabric/support/fork_job.hpp"
#include "routing/drive.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace routing;
using support::ForkJob;
using support::Member;
using support::require;

namespace {

constexpr std::uint32_t kRouters = 4;
enum Word : std::size_t { kStarted, kSettled };

void live(Member& member) {
  dsfabric::Config config;
  config.threads = 1;
  config.service_threads = 0;
  dsfabric::Fabric fabric = member.join(config);
  sst::TableGroup group(fabric);
  Router router(group, hub_and_ring(kRouters));
  sst::Pace pace(fabric);
  const auto until = [&](const std::function<bool()>& done, const char* what) {
    evaluate_until(router, pace, done, what);
  };
  until([&] { return router.all_settled(); }, "the first routes");
  router.reach(1);
  until([&] { return router.all_reached(1); }, "all");
  member.memory.words[kStarted]++;
  if (member.rank == 1) {
    for (Cost cost = 1;; cost = cost % 100 + 1) router.set_link({2}, cost);
  }
  until([&] { return !router.alive({1}) && router.all_settled(); }, "the survivors");
  require(check(router.routes(), router.costs()).empty(), "the routes are those of the reference");
  member.memory.words[kSettled]++;
  until([&] { return member.memory.words[kSettled] >= kRouters - 1; }, "all survivors");
}

}  // namespace

TEST_CASE("survivors_settle_wherever_a_router_dies_in_the_middle_of_changes") {
  const std::uint64_t seed = support::test_seed();
  support::Random random(seed);
  for (int run = 0; run < support::rounds(30); ++run) {
    const auto moment = std::chrono::microseconds(500 + random.below(3000));
    CAPTURE(seed, run, moment.count());
    ForkJob job(kRouters, live);
    REQUIRE(support::eventually([&] { return job.memory().words[kStarted] == kRouters; }));
    std::this_thread::sleep_for(moment);
    job.kill(1);
    REQUIRE(job.wait() == "1: signal 9\n");
  }
}
