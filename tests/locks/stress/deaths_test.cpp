// SPDX-License-Identifier: MIT
// Deaths at each step of each scheme, one after the other, of workers that are homes as well.
#include <mutex>
#include <shared_mutex>

#include "locks/support/lock_job.hpp"
#include "support/catch.hpp"

using namespace locks;
using dsfabric::Thread;
using locks::detail::Point;
using support::AtPoint;
using support::History;
using support::Member;
using support::options_of;
using support::require;

#define SCHEMES Ncosed, Dqnl, Dslr, Srsl

namespace {

constexpr Point kPoints[] = {Point::kPlaced,    Point::kTold,     Point::kGranted,
                             Point::kReleasing, Point::kReleased, Point::kPassedOn};

/// Locks once, in a mode by chance, and looks whether somebody else has the lock. The number of the
/// lock in the history is that of its home.
template <class M>
void lock_once(LockSpace& space, History& history, std::uint16_t home, std::uint32_t me,
               support::Random& random) {
  SharedMutex<M> mutex(space, LockId{{home}, 7});
  const std::uint64_t way = random.below(8);
  if (way < 3) {
    const std::shared_lock held(mutex);
    history.enter(home, me, false, mutex.owner_died());
    history.leave(home, me);
  } else if (way < 7) {
    const std::unique_lock held(mutex);
    history.enter(home, me, true, mutex.owner_died());
    history.leave(home, me);
  } else if (mutex.try_lock()) {
    history.enter(home, me, true, mutex.owner_died());
    history.leave(home, me);
    mutex.unlock();
  }
}

/// Processes 1 to `deaths` die one after the other, each at another point. All lock a lock of
/// process 0, and one whose home dies next.
template <class M>
void die_one_by_one(std::uint64_t seed, std::uint64_t adversary) {
  // Dslr and Srsl have nobody to pass a lock on to.
  constexpr bool kQueue = M::kScheme == Scheme::kNcosed || M::kScheme == Scheme::kDqnl;
  constexpr std::uint32_t kDeaths = std::size(kPoints) - (kQueue ? 0 : 1);
  constexpr std::uint32_t kMembers = kDeaths + 2;
  constexpr std::uint32_t kAfterwards = 8;
  History history;
  const std::string ends = support::run_members(
      {.processes = kMembers, .adversary = adversary}, [&](Member& member, Thread& self) {
        LockSpace space(self, options_of<M>());
        const std::uint32_t me = member.rank;
        support::Random random(seed * kMembers + me);
        support::meet(member, self);
        for (std::uint16_t victim = 1; victim <= kDeaths; ++victim) {
          if (me == victim) {
            *AtPoint::hook = [&, passes = random.below(4)](Point reached) mutable {
              if (reached != kPoints[me - 1] || passes-- != 0) return;
              history.bury(me);
              member.die();
            };
          }
          dtutils::Deadline deadline(std::chrono::seconds(20));
          for (std::uint32_t after = 0; after < kAfterwards;) {
            const std::uint16_t home = random.below(2) == 0 ? 0 : victim;
            try {
              lock_once<M>(space, history, home, me, random);
            } catch (const dsfabric::PeerFailed& failed) {
              require(home == victim && failed.process().value == victim,
                      "only the death of a home ends waits");
            }
            after += self.fabric().failed({victim});
            require(!deadline.passed(), "the death is noticed");
          }
        }
        support::meet_living(member, self, 1, 2);
      });
  std::string expected;
  for (std::uint32_t i = 1; i <= kDeaths; ++i) expected += std::to_string(i) + ": signal 9\n";
  CHECK(ends == expected);
  CHECK(history.violations() == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("survivors_of_a_death_at_any_step_go_on_locking", "", SCHEMES) {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  die_one_by_one<TestType>(seed, 0);
}

TEMPLATE_TEST_CASE("survivors_of_a_death_under_the_adversary_go_on_locking", "", SCHEMES) {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  die_one_by_one<TestType>(seed, seed | 1);
}
