// SPDX-License-Identifier: MIT
// Holders, waiters and homes that die; a holder that was stopped and given up.
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>

#include "dsfabric/peer_failed.hpp"
#include "dsfabric/send_channel.hpp"
#include "locks/support/lock_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using namespace locks;
using dsfabric::Thread;
using locks::detail::Point;
using support::AtPoint;
using support::ForkJob;
using support::Member;
using support::options_of;
using support::require;
using support::serve_until_word;

#define SCHEMES Ncosed, Dqnl, Dslr, Srsl

TEMPLATE_TEST_CASE("locks_of_dead_holders_are_passed_on_dead_waiters_left_out_dead_homes_given_up",
                   "", SCHEMES) {
  // 0: home of the first lock. 1 holds it and dies; 2 dies behind it, before 1; 3 stands behind 2.
  // 4 dies with it while nobody waits. 3 is the home of the second lock, and dies while 0 holds it
  // and 5 waits.
  CHECK(support::run_members({.processes = 6}, [](Member& member, Thread& self) {
          enum Word { kTold, kThird, kFree, kFourth, kHeld, kAsked, kEnd };
          LockSpace space(self, options_of<TestType>());
          SharedMutex<TestType> mutex(space, LockId{{0}, 1});
          SharedMutex<TestType> of_third(space, LockId{{3}, 1});
          const std::uint32_t me = member.rank;
          std::uint64_t before = 0;
          const auto reach = [&](Word word) { member.memory.words[word] = 1; };
          const auto await = [&](Word word) { serve_until_word(member, self, word, 1); };
          const auto await_failure = [&](std::uint16_t process) {
            support::serve_until(self, [&] { return self.fabric().failed({process}); });
          };
          if (me == 1) mutex.lock();
          support::meet(member, self);
          switch (me) {
            case 0:
              of_third.lock();
              reach(kHeld);
              await(kThird);
              before = space.repairs();
              reach(kFree);
              // That of the first deaths may be counted only now.
              support::serve_until(
                  self, [&] { return space.repairs() > before && self.fabric().failed({4}); });
              reach(kFourth);
              await(kEnd);
              of_third.unlock();
              break;
            case 1:
              await(kTold);
              await_failure(2);
              member.die();
            case 2:
              *AtPoint::hook = [&](Point reached) {
                if (reached != Point::kTold) return;
                reach(kTold);
                member.die();
              };
              mutex.lock();
              break;
            case 3: {
              await(kTold);
              mutex.lock();
              require(mutex.owner_died(), "the next one is told");
              mutex.unlock();
              reach(kThird);
              await(kFourth);
              {
                // A reader is told too, and leaves the mark; with DQNL it is the next holder.
                const std::shared_lock lock(mutex);
                require(mutex.owner_died(), "the reader is told");
              }
              if (TestType::kScheme != Scheme::kDqnl) {
                const std::unique_lock lock(mutex);
                require(mutex.owner_died(), "the next exclusive one is told");
              }
              {
                const std::unique_lock lock(mutex);
                require(!mutex.owner_died(), "once");
              }
              // A release that is still on its way would die with this process.
              require(self.transmitter({0}).flush(), "flush");
              dsfabric::SendChannel calls(self.fabric());
              calls.call_return(dsfabric::ThreadId::service_of({0}), [] {}).get();
              await(kAsked);
              member.die();
            }
            case 4:
              await(kFree);
              mutex.lock();
              member.die();
            default: {
              await(kHeld);
              bool told = false;
              *AtPoint::hook = [&](Point reached) {
                if (reached == Point::kTold) reach(kAsked);
              };
              try {
                of_third.lock();
              } catch (const dsfabric::PeerFailed& failed) {
                told = failed.process().value == 3;
              }
              require(told, "the wait ends with the home");
              mutex.lock();
              require(!mutex.owner_died(), "nobody died with it");
              mutex.unlock();
              reach(kEnd);
            }
          }
        }) == "1: signal 9\n2: signal 9\n3: signal 9\n4: signal 9\n");
}

TEMPLATE_TEST_CASE("a_worker_that_throws_leaves_its_locks_to_those_who_wait", "", SCHEMES) {
  // Process 1 throws while it holds a lock of process 0 and one of its own. A worker of each
  // process waits for each: nobody waits forever, and who lives gets what has a home.
  CHECK(support::run_members({.processes = 2, .threads = 2}, [](Member& member, Thread& self) {
          LockSpace space(self, options_of<TestType>());
          SharedMutex<TestType> theirs(space, LockId{{0}, 1});
          SharedMutex<TestType> own(space, LockId{{1}, 1});
          const bool holder = self.id() == dsfabric::ThreadId{{1}, 0};
          if (holder) {
            theirs.lock();
            own.lock();
          }
          self.barrier();
          if (holder) {
            // The others ask meanwhile, or later; both must come to an end.
            const auto until = dtutils::Clock::now() + std::chrono::milliseconds(20);
            support::serve_until(self, [&] { return dtutils::Clock::now() > until; });
            throw std::runtime_error("on purpose");
          }
          SharedMutex<TestType>& wanted = self.id().index == 0 ? theirs : own;
          try {
            wanted.lock();
            require(self.id().index == 0, "it has no home any more");
            require(wanted.owner_died(), "the next one is told");
            wanted.unlock();
          } catch (const dsfabric::PeerFailed&) {
            require(self.id().index != 0, "its home lives");
          }
          if (self.id().process == dsfabric::ProcessId{0}) {
            support::meet_living(member, self, 0, 2);
          }
        }) == "1: on purpose\n");
}

TEMPLATE_TEST_CASE("a_holder_that_wakes_after_it_was_given_up_changes_nothing", "", SCHEMES) {
  ForkJob job(3, support::living({}, [](Member& member, Thread& self) {
                LockSpace space(self, options_of<TestType>());
                dsfabric::SymmetricBuffer data(self, 64);
                auto* const word = reinterpret_cast<std::uint64_t*>(data.data());
                *word = 0;
                self.barrier();
                SharedMutex<TestType> mutex(space, LockId{{0}, 1});
                auto& words = member.memory.words;
                if (member.rank == 1) {
                  mutex.lock();
                  words[0] = 1;
                  // It is stopped here, and wakes when it was given up.
                  while (words[1] == 0) dtutils::give_way();
                  const std::uint64_t late = 99;
                  (void)self.transmitter({2}).write(
                      {const_cast<std::uint64_t*>(&late), sizeof late, 0},
                      data.at({{2}, 0}).part(0, 8), dtutils::kInlined);
                  mutex.unlock();
                  try {
                    mutex.lock();
                    require(false, "it has no home any more");
                  } catch (const dtutils::Error&) {
                  }
                  words[3] = 1;
                  return;
                }
                serve_until_word(member, self, 2, 1);  // it is stopped
                if (member.rank == 0) self.fabric().fail({1}, "this test gives it up");
                {
                  const std::unique_lock lock(mutex);
                  // Whoever is second finds it in order.
                  if (mutex.owner_died()) ++words[4];
                  require(self.fabric().failed({1}), "both have cut it off");
                }
                ++words[5];
                serve_until_word(member, self, 5, 2);
                if (member.rank == 0) words[1] = 1;
                serve_until_word(member, self, 3, 1);
                require(*word == 0, "nothing of it arrives");
                ++words[6];
                serve_until_word(member, self, 6, 2);
              }));
  REQUIRE(support::eventually([&] { return job.memory().words[0] == 1; }));
  job.stop(1);
  job.memory().words[2] = 1;
  CHECK(support::eventually([&] { return job.memory().words[1] == 1; }));
  job.resume(1);
  CHECK(job.wait() == "");
  CHECK(job.memory().words[4] == 1);
}

TEMPLATE_TEST_CASE("a_process_that_gives_up_another_one_and_leaves_tells_the_home", "", SCHEMES) {
  // 1 passes the lock of 0 on to 2, with which it has no connection any more, and leaves.
  CHECK(support::run_members({.processes = 3}, [](Member& member, Thread& self) {
          LockSpace space(self, options_of<TestType>());
          SharedMutex<TestType> mutex(space, LockId{{0}, 1});
          if (member.rank == 1) mutex.lock();
          support::meet(member, self);
          if (member.rank == 0) {
            // By Srsl it may have got the lock, and have left.
            support::serve_until(
                self, [&] { return self.fabric().state({2}) != dsfabric::PeerState::kActive; });
            mutex.lock();
            mutex.unlock();
          } else if (member.rank == 1) {
            serve_until_word(member, self, 1, 1);
            self.fabric().fail({2}, "suspected in error");
            mutex.unlock();
          } else {
            support::count_waiters(member.memory.words[1]);
            try {
              mutex.lock();
              mutex.unlock();
            } catch (const dsfabric::PeerFailed& failure) {
              require(failure.process() == dsfabric::ProcessId{0}, failure.what());
            }
          }
        }) == "");
}
