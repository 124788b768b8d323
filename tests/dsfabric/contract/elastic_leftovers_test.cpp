// SPDX-License-Identifier: MIT
// What members that have left or failed leave behind at one that stays: nothing that grows.
#include <cstdint>
#include <string>

#include "dsfabric/support/elastic_job.hpp"
#include "dsfabric/support/holdings.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/skip.hpp"

using namespace dsfabric;
using support::ElasticForkJob;
using support::ElasticMemory;
using support::eventually;
using support::Holdings;
using support::require;
using support::require_equal;
using support::serve_while;

namespace {

constexpr std::uint16_t kRounds = 4;

/// Of ElasticMemory::words.
struct LeftoversWord {
  static constexpr std::size_t kRound = 0, kReadyToDie = 1;
};

/// Has results, messages and bytes go both ways between this newcomer and a process.
void use(Thread& self, ProcessId process) {
  Fabric& fabric = self.fabric();
  SendChannel calls(fabric);
  const std::uint16_t me = fabric.process().value;
  const auto answer = [me](CallContext& call) {
    SendChannel back(call.fabric);
    (void)back.call({{me}, 0}, [] {});
    return call.fabric.process().value;
  };
  require_equal(calls.call_return({process, 0}, answer).get(), process.value, "an answer");
  const RemoteMemory there = fabric.allocate_remote(process, 1 << 16);
  const dtutils::RDMAMemory here = fabric.general_allocator().allocate(64);
  require(fabric.transmitter(process).write(here.local(), there.locator().part(0, 64)), "written");
  require(fabric.transmitter(process).flush(), "flushed");
}

/// Two newcomers, of which the second one is killed with memory of the founder in its hands.
void come_and_go(ElasticForkJob& job, std::uint16_t first) {
  std::atomic<std::uint64_t>& ready = job.memory().words[LeftoversWord::kReadyToDie];
  ready = 0;
  const std::size_t leaves = job.add(
      [](Fabric& fabric, ElasticMemory&) { fabric.run([](Thread& self) { use(self, {0}); }); });
  REQUIRE(job.wait(leaves) == "");
  const std::size_t dies = job.add([](Fabric& fabric, ElasticMemory& memory) {
    fabric.run([&](Thread& self) {
      use(self, {0});
      const RemoteMemory held = fabric.allocate_remote({0}, 1 << 16);
      memory.words[LeftoversWord::kReadyToDie] = 1;
      serve_while(self, [] { return true; });
    });
  });
  REQUIRE(eventually([&] { return ready == 1; }));
  job.kill(dies);
  REQUIRE(job.wait(dies) == "killed");
  REQUIRE(leaves == first);
  REQUIRE(dies == first + 1u);
}

}  // namespace

TEST_CASE("members_that_come_and_go_leave_nothing_behind_at_one_that_stays") {
  if (support::skipped_on_sim("newcomers come through the sockets of a launcher.")) return;
  ElasticForkJob job(1, 1 + 2 * kRounds, [](Fabric& fabric, ElasticMemory& memory) {
    std::atomic<std::uint64_t>& round = memory.words[LeftoversWord::kRound];
    fabric.run([&](Thread& self) {
      const Holdings before(fabric);
      // Nobody comes before that.
      round = 1;
      for (std::uint16_t i = 1; i <= kRounds; ++i) {
        const ProcessId left{static_cast<std::uint16_t>(2 * i - 1)};
        const ProcessId died{static_cast<std::uint16_t>(2 * i)};
        serve_while(self, [&] {
          return fabric.state(left) != PeerState::kLeft || fabric.state(died) != PeerState::kFailed;
        });
        std::string now;
        const bool equal = eventually([&] {
          self.progress();
          const Holdings after(fabric);
          now = after.text();
          return after == before;
        });
        require(equal, "after round " + std::to_string(i) + " there are " + now + ", before it " +
                           before.text());
        round = i + 1u;
      }
    });
  });
  for (std::uint16_t i = 0; i < kRounds; ++i) {
    if (!eventually([&] { return job.memory().words[LeftoversWord::kRound] == i + 1u; })) {
      FAIL(job.wait(0));
    }
    come_and_go(job, static_cast<std::uint16_t>(2 * i + 1));
  }
  CHECK(job.wait(0) == "");
}
