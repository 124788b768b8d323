// SPDX-License-Identifier: MIT
// SIGKILL of a process at any moment of start, run or stop: survivors learn of it and go on.
#include <cstring>
#include <thread>

#include "dsfabric/support/fork_job.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::ForkJob;
using support::Member;
using support::require;

namespace {

using Clock = std::chrono::steady_clock;
constexpr MessageKind kTest = MessageKind::kFirstFree;
/// Far more than it takes, because this machine may have other work.
constexpr double kNoticeSeconds = 6;

/// Of JobMemory::words.
enum Word { kDeath = 0, kJoined = 1, kVictim = 2, kAtStart = 3 };

double seconds_since_death(Member& member) {
  const Clock::time_point died{
      Clock::duration(static_cast<Clock::rep>(member.memory.words[kDeath].load()))};
  return std::chrono::duration<double>(Clock::now() - died).count();
}

/// Everything at once until somebody fails or the rounds are over: messages of two sizes, barriers,
/// gathering, remote memory, names.
void work(Fabric& fabric, Thread& self, std::uint64_t rounds) {
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const ThreadId next = self.neighbour(1);
    for (const std::uint32_t bytes : {8u, 1500u}) {
      SendSpace space(fabric, next.process, bytes);
      if (space) (void)space.commit(kTest, next);
    }
    self.barrier();
    require(self.all_reduce(1u) == fabric.total_threads(), "all take part");
    const RemoteMemory memory = fabric.allocate_near(next, 1 + round % 1000);
    fabric.publish("round", std::as_bytes(std::span(&round, 1)));
    (void)fabric.lookup("round");
  }
}

void live(Member& member, std::uint64_t rounds) {
  Config config;
  config.threads = 2;
  // Who joins with the dead waits for it so long. In a run nothing may end by it.
  if (member.memory.words[kAtStart] != 0) config.start_timeout = std::chrono::milliseconds(700);
  std::atomic<int> upcalls{0};
  const auto victim = ProcessId{static_cast<std::uint16_t>(member.memory.words[kVictim].load())};
  const auto victim_died = [&] { return member.memory.words[kDeath] != 0; };
  try {
    Fabric fabric = member.join(config);
    member.memory.words[kJoined]++;
    fabric.on_failure([&](ProcessId, const std::string&) { ++upcalls; });
    fabric.set_message_handler(kTest, {[](void*, const Incoming&) { return true; }, nullptr});
    try {
      fabric.run([&](Thread& self) {
        try {
          work(fabric, self, rounds);
        } catch (const PeerFailed& failure) {
          // Who fails is the victim, or a survivor that has left because of it.
          require(victim_died(), "nobody fails unless the victim has died");
          require(seconds_since_death(member) < kNoticeSeconds, "and soon after it did");
        }
      });
    } catch (const PeerFailed&) {
      require(victim_died(), "no run ends before its time");
    }
    if (victim_died() && fabric.state(victim) == PeerState::kActive) {
      require(support::eventually([&] { return fabric.state(victim) != PeerState::kActive; }),
              "everyone learns of it");
      require(seconds_since_death(member) < kNoticeSeconds, "within the time");
    }
    if (fabric.failed(victim)) {
      require(support::eventually([&] { return upcalls.load() == 1; }), "one upcall for it");
    }
  } catch (const dtutils::Error& error) {
    // It died while they joined.
    require(victim_died() || member.memory.words[kJoined] < member.size, error.what());
  }
  require(upcalls <= 1, "survivors do not fail each other");
}

}  // namespace

TEST_CASE("survivors_outlive_a_death_at_any_moment") {
  const int points = support::rounds(200);
  const std::uint64_t seed = support::test_seed();
  support::Random random(seed);
  for (int point = 0; point < points; ++point) {
    CAPTURE(seed, point);
    constexpr std::uint32_t kSize = 3;
    const auto victim = static_cast<std::uint32_t>(random.below(kSize));
    // A third while they join, the others in a run or its end, which small runs come to soon.
    const bool at_start = random.one_in(3);
    const auto moment = std::chrono::microseconds(random.below(at_start ? 20'000 : 60'000));
    const std::uint64_t rounds = random.size_up_to(300);
    CAPTURE(victim, at_start, moment.count(), rounds);
    ForkJob job(kSize, [&](Member& member) {
      member.memory.words[kVictim] = victim;
      member.memory.words[kAtStart] = at_start;
      live(member, rounds);
    });
    if (!at_start) {
      CHECK(support::eventually([&] { return job.memory().words[kJoined] == kSize; }));
    }
    std::this_thread::sleep_for(moment);
    job.memory().words[kDeath] =
        static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
    job.kill(victim);
    const std::string bad = job.wait(std::chrono::seconds(40));
    const std::string expected = std::to_string(victim) + ": signal 9\n";
    // It may have been over already.
    CAPTURE(bad);
    REQUIRE((bad == expected || bad.empty()));
  }
}
