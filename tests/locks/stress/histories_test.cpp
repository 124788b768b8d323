// SPDX-License-Identifier: MIT
// Random locking of few locks by many, with kills at random moments: no lock is ever held by two.
//
// CARIAMA_LOCK_ACQUISITIONS=10000000 makes them as long as that.
#include <cstdlib>
#include <mutex>
#include <shared_mutex>

#include "locks/support/lock_job.hpp"
#include "support/catch.hpp"

using namespace locks;
using dsfabric::Thread;
using support::ForkJob;
using support::History;
using support::Member;
using support::options_of;
using support::require;

#define SCHEMES Ncosed, Dqnl, Dslr, Srsl

namespace {

constexpr std::uint32_t kMembers = 4;
constexpr std::uint32_t kLocks = 6;

std::uint64_t wanted(std::uint64_t unless_told) {
  const char* const told = std::getenv("CARIAMA_LOCK_ACQUISITIONS");
  if (told != nullptr) return std::strtoull(told, nullptr, 10);
  return support::rounds(static_cast<int>(unless_told));
}

/// Holds a lock at process 0 now and then together with one behind it, in a mode by chance.
template <class M>
void lock_some(LockSpace& space, History& history, std::uint32_t me, support::Random& random) {
  const auto number = static_cast<std::uint32_t>(random.below(kLocks));
  SharedMutex<M> mutex(space, LockId{{static_cast<std::uint16_t>(number % 2)}, number});
  const std::uint64_t way = random.below(8);
  if (way < 3) {
    const std::shared_lock held(mutex);
    history.enter(number, me, false, mutex.owner_died());
    history.leave(number, me);
  } else if (way == 3) {
    const std::unique_lock held(mutex, std::try_to_lock);
    if (!held) return;
    history.enter(number, me, true, mutex.owner_died());
    history.leave(number, me);
  } else {
    const std::unique_lock held(mutex);
    history.enter(number, me, true, mutex.owner_died());
    history.leave(number, me);
  }
}

/// Locks until all have locked often enough; the last `kills` processes may be killed meanwhile. A
/// process that others wait for as a home ends after them.
template <class M>
void lock_on(Member& member, Thread& self, History& history, std::uint64_t goal, std::uint64_t seed,
             std::uint32_t kills) {
  LockSpace space(self, options_of<M>());
  support::Random random(seed * kMembers + member.rank);
  auto& words = member.memory.words;
  ++words[0];
  while (history.acquisitions() < goal && history.violations() == 0) {
    lock_some<M>(space, history, member.rank, random);
    self.progress();
  }
  words[2 + member.rank] = 1;
  support::serve_until(self, [&] {
    if (history.violations() != 0) return true;
    for (std::uint32_t rank = 0; rank < kMembers - kills; ++rank) {
      if (words[2 + rank] == 0) return false;
    }
    return words[1] != 0;
  });
}

/// Whether so many acquisitions come about. How long they take depends on how many they are and on
/// the machine, so it ends only when there are no more of them, or a violation.
bool gets_to(const History& history, std::uint64_t acquisitions) {
  constexpr std::chrono::seconds kStuck{20};
  std::uint64_t before = 0;
  do {
    before = history.acquisitions();
    if (support::eventually([&] { return history.acquisitions() >= acquisitions; }, kStuck)) {
      return true;
    }
  } while (history.acquisitions() != before && history.violations() == 0);
  return false;
}

template <class M>
void kill_some(std::uint64_t goal, std::uint32_t kills, std::uint64_t adversary) {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed, adversary);
  support::Random random(seed);
  History history;
  ForkJob job(kMembers,
              support::living({.adversary = adversary}, [&](Member& member, Thread& self) {
                lock_on<M>(member, self, history, goal, seed, kills);
              }));
  REQUIRE(support::eventually([&] { return job.memory().words[0] == kMembers; }));
  std::string ends;
  for (std::uint32_t kill = 0; kill < kills; ++kill) {
    const std::uint32_t victim = kMembers - kills + kill;
    const std::uint64_t moment = (kill + 1) * goal / (kills + 1);
    CHECK(gets_to(history, moment));
    for (std::size_t spins = random.below(20'000); spins != 0; --spins) dtutils::cpu_pause();
    // Stopped first, so that it is known to hold what it says when it is buried.
    job.stop(victim);
    history.bury(victim);
    job.kill(victim);
    ends += std::to_string(victim) + ": signal 9\n";
  }
  CHECK(gets_to(history, goal));
  job.memory().words[1] = 1;
  CHECK(job.wait() == ends);
  CHECK(history.violations() == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("no_lock_is_held_by_two_while_processes_are_killed", "", SCHEMES) {
  kill_some<TestType>(wanted(TestType::kScheme == Scheme::kSrsl ? 800 : 3'000), 2, 0);
}

TEMPLATE_TEST_CASE("no_lock_is_held_by_two_under_the_adversary", "", SCHEMES) {
  kill_some<TestType>(wanted(250), 1, support::test_seed() | 1);
}
