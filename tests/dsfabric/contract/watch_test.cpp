// SPDX-License-Identifier: MIT
// Layers above look at their own connections when the failure detector's thread looks at peers.
#include <atomic>
#include <memory>
#include <string>

#include "dsfabric/own_connections.hpp"
#include "dsfabric/support/fork_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using namespace dsfabric;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

TEST_CASE("looks_come_every_watch_interval_until_they_are_removed_and_may_declare_failures") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    config.service_threads = 0;
    config.watch_interval = std::chrono::milliseconds(5);
    Fabric fabric = member.join(config);
    std::atomic<int> looks{0}, removed{0};
    std::atomic<bool> fails{false};
    const auto held = std::make_shared<int>();
    const UpcallId kept = fabric.on_watch([&] {
      ++looks;
      if (fails) fabric.fail({1}, "its connection broke");
    });
    const UpcallId gone = fabric.on_watch([&removed, held] { ++removed; });
    require(kept != gone && gone != UpcallId{}, "each has a name of its own");
    require(support::eventually([&] { return looks >= 3 && removed >= 3; }), "they look");
    fabric.remove_upcall(gone);
    // One look may be under way.
    require(support::eventually([&] { return held.use_count() == 1; }), "what it held is freed");
    const int before = removed;
    const int more = looks + 3;
    require(support::eventually([&] { return looks >= more; }), "the other one looks on");
    require_equal(removed.load(), before, "looks of the removed one");
    support::meet(member, fabric, 0);
    if (member.rank == 0) fails = true;
    const ProcessId other{static_cast<std::uint16_t>(1 - member.rank)};
    require(support::eventually([&] { return fabric.failed(other); }), "both learn of it");
    require(member.rank == 1 || fabric.failure_reason(other) == "its connection broke",
            fabric.failure_reason(other));
    fabric.remove_upcall(kept);
    require(support::eventually([&] {
              const int seen = looks;
              dtutils::sleep_for(std::chrono::milliseconds(20));
              return looks == seen;
            }),
            "no look is under way");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_process_that_watches_its_own_connections_fails_when_one_of_them_breaks") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    config.service_threads = 0;
    config.watch_interval = std::chrono::milliseconds(5);
    Fabric fabric = member.join(config);
    const ProcessId here = fabric.process();
    watch_own_connections(fabric);
    watch_own_connections(fabric);  // is the same as once
    support::meet(member, fabric, 0);
    if (member.rank == 0) {
      const dtutils::RDMAMemory memory = fabric.general_allocator().allocate(64);
      dtutils::RemoteMemoryLocator wrong = memory.remote().part(0, 8);
      wrong.rkey = ~wrong.rkey;
      require(fabric.transmitter(here).write(memory.local(8, 8), wrong, dtutils::kInlined),
              "posted");
    }
    require(support::eventually([&] { return fabric.failed({0}); }), "both learn of it");
    const std::string reason = fabric.failure_reason({0});
    require(reason.find("of its connections to itself: its connection broke") != std::string::npos,
            reason);
    if (member.rank == 1) return;
    // A barrier may tell of the write first.
    const std::string said = support::error_text([&] { fabric.run([](Thread&) {}); });
    require(said.find("itself") != std::string::npos, said);
  });
  CHECK(job.wait() == "");
}
