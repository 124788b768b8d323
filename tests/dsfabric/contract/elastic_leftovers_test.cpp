// SPDX-License-Identifier: MIT
// What members that have left or failed leave behind at one that stays: nothing that grows.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "dsfabric/send_space.hpp"
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

constexpr std::uint16_t kGenerations = 4;

/// Of ElasticMemory::words.
struct LeftoversWord {
  static constexpr std::size_t kRound = 0, kReadyToDie = 1, kMayDie = 2;
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
  ElasticForkJob job(1, 1 + 2 * kGenerations, [](Fabric& fabric, ElasticMemory& memory) {
    std::atomic<std::uint64_t>& round = memory.words[LeftoversWord::kRound];
    fabric.run([&](Thread& self) {
      const Holdings before(fabric);
      // Nobody comes before that.
      round = 1;
      for (std::uint16_t i = 1; i <= kGenerations; ++i) {
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
  for (std::uint16_t i = 0; i < kGenerations; ++i) {
    if (!eventually([&] { return job.memory().words[LeftoversWord::kRound] == i + 1u; })) {
      FAIL(job.wait(0));
    }
    come_and_go(job, static_cast<std::uint16_t>(2 * i + 1));
  }
  CHECK(job.wait(0) == "");
}

// What a thread holds of a member that died is broken, but there, until it lets go of it; what was
// handed out for good stays so.
TEST_CASE("connections_to_a_member_that_died_stay_while_somebody_holds_them") {
  if (support::skipped_on_sim("newcomers come through the sockets of a launcher.")) return;
  const bool handed_out = GENERATE(false, true);
  ElasticForkJob job(1, 3, [handed_out](Fabric& fabric, ElasticMemory& memory) {
    fabric.run([&](Thread& self) {
      const Holdings before(fabric);
      memory.words[LeftoversWord::kRound] = 1;
      serve_while(self, [&] { return memory.words[LeftoversWord::kReadyToDie] != 1; });
      constexpr ProcessId kDies{1};
      std::optional<SendSpace> space;
      dtutils::Transmitter* transmitter = nullptr;
      if (handed_out) {
        transmitter = &fabric.transmitter(kDies);
      } else {
        space.emplace(fabric, kDies, 64);
        require(static_cast<bool>(*space), "room for a message");
        transmitter = &space->transmitter();
      }
      const std::size_t held = Holdings(fabric).queue_pairs;
      require(held > before.queue_pairs, "there is a connection");
      memory.words[LeftoversWord::kMayDie] = 1;
      const auto posts = [&] {
        return transmitter->write(dtutils::LocalBuffer{}, {}, dtutils::kSignaled);
      };
      serve_while(self, [&] { return fabric.state(kDies) != PeerState::kFailed || posts(); });
      // Longer than it takes where nobody holds anything.
      dtutils::Deadline while_held(std::chrono::milliseconds(600));
      while (!while_held.passed()) {
        require(!posts(), "nothing is posted to a member that died");
        self.progress();
      }
      require(transmitter->error().has_value(), "it says why");
      require_equal(Holdings(fabric).queue_pairs, held, "queue pairs while one is held");
      if (space) {
        require(!space->commit(MessageKind::kCall, {kDies, 0}), "nothing is sent");
        space.reset();
        require(eventually([&] {
                  self.progress();
                  return Holdings(fabric).queue_pairs == before.queue_pairs;
                }),
                "queue pairs are destroyed when nobody holds them");
      }
      // Another use finds it gone.
      require(SendChannel(fabric).call({kDies, 0}, [] {}) == CallStatus::kPeerGone, "it is gone");
    });
  });
  REQUIRE(eventually([&] { return job.memory().words[LeftoversWord::kRound] == 1; }));
  const std::size_t dies = job.add([](Fabric& fabric, ElasticMemory& memory) {
    fabric.run([&](Thread& self) {
      use(self, {0});
      memory.words[LeftoversWord::kReadyToDie] = 1;
      serve_while(self, [] { return true; });
    });
  });
  CHECK(eventually([&] { return job.memory().words[LeftoversWord::kMayDie] == 1; }));
  job.kill(dies);
  CHECK(job.wait(dies) == "killed");
  CHECK(job.wait(0) == "");
}
