// SPDX-License-Identifier: MIT
// Fibers and the program of one worker that want the same lock.
#include <chrono>

#include "dsfabric/send_channel.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/synchronizer.hpp"
#include "locks/support/lock_job.hpp"
#include "riutils/fiber_pool.hpp"
#include "riutils/in_fiber.hpp"
#include "support/catch.hpp"

using namespace locks;
using dsfabric::Thread;
using support::Member;
using support::options_of;
using support::require;

namespace {

constexpr std::chrono::milliseconds kHeld{5};
constexpr std::chrono::seconds kPatience{20};

/// Shorter than a pause that serves: each call by itself waits for nobody.
template <class Mutex>
bool locked_by_short_tries(Mutex& mutex) {
  const auto end = dtutils::Clock::now() + kPatience;
  do {
    if (mutex.try_lock_for(std::chrono::nanoseconds(1))) return true;
  } while (dtutils::Clock::now() < end);
  return false;
}

}  // namespace

TEMPLATE_TEST_CASE("a_fiber_that_holds_a_lock_goes_on_while_its_program_tries_for_short_times", "",
                   Ncosed, Dqnl, Dslr, Srsl) {
  CHECK(support::run_members({.processes = 2}, [](Member&, Thread& self) {
          LockSpace space(self, options_of<TestType>());
          riutils::FiberPool pool(self);
          dsfabric::SendChannel calls(self.fabric());
          const LockId id{self.id().process, 0};
          bool held = false;
          const auto hold = [space = &space, held = &held, id] {
            SharedMutex<TestType> inner(*space, id);
            inner.lock();
            *held = true;
            dtutils::Synchronizer never(1);
            (void)never.wait_for(kHeld);
            inner.unlock();
          };
          auto done = calls.call_return(self.id(), riutils::in_fiber(hold));
          support::serve_until(self, [&] { return held; });
          SharedMutex<TestType> mutex(space, id);
          require(locked_by_short_tries(mutex), "the fiber has released it");
          mutex.unlock();
          done.get();
          self.barrier();
        }) == "");
}

TEMPLATE_TEST_CASE("a_fiber_that_tries_for_short_times_lets_its_program_release_the_lock", "",
                   Ncosed, Dqnl, Dslr, Srsl) {
  CHECK(support::run_members({.processes = 2}, [](Member&, Thread& self) {
          LockSpace space(self, options_of<TestType>());
          riutils::FiberPool pool(self);
          dsfabric::SendChannel calls(self.fabric());
          const LockId id{self.id().process, 0};
          SharedMutex<TestType> mutex(space, id);
          mutex.lock();
          bool tries = false;
          const auto lock = [space = &space, tries = &tries, id] {
            SharedMutex<TestType> inner(*space, id);
            *tries = true;
            const bool taken = locked_by_short_tries(inner);
            if (taken) inner.unlock();
            return taken;
          };
          auto taken = calls.call_return(self.id(), riutils::in_fiber(lock));
          support::serve_until(self, [&] { return tries; });
          mutex.unlock();
          require(taken.get(), "the program has released it");
          self.barrier();
        }) == "");
}
