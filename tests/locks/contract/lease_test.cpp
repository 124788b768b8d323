// SPDX-License-Identifier: MIT
// Leases of holders that do not answer, and clocks that jump.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "dtutils/joinable_thread.hpp"
#include "locks/support/lock_job.hpp"
#include "support/catch.hpp"

using namespace locks;
using dsfabric::Thread;
using support::ForkJob;
using support::Member;
using support::options_of;
using support::require;
using support::serve_until_word;

namespace {

/// The clock of leases of this process: it leaps, or is set back, by an hour each time.
struct LeaseClock {
  inline static support::PerProcess<std::atomic<std::int64_t>, 1> step;
  inline static support::PerProcess<std::atomic<std::int64_t>, 1'000'000> hours;
  static std::chrono::nanoseconds now() { return std::chrono::hours(*hours += *step); }
};

}  // namespace

TEST_CASE("a_lease_ends_the_hold_of_a_process_that_does_not_answer") {
  // No others: on a busy machine they might not answer in time either.
  ForkJob job(2, support::living({}, [](Member& member, Thread& self) {
                LockSpaceOptions options = options_of<Dslr>();
                options.lease = std::chrono::milliseconds(100);
                LockSpace space(self, options);
                self.barrier();
                SharedMutex<Dslr> mutex(space, LockId{{0}, 1});
                auto& words = member.memory.words;
                if (member.rank == 1) {
                  mutex.lock();
                  words[0] = 1;
                  support::serve_nothing();
                }
                serve_until_word(member, self, 2, 1);
                mutex.lock();
                require(mutex.owner_died(), "it is told");
                mutex.unlock();
                words[1] = 1;
              }));
  REQUIRE(support::eventually([&] { return job.memory().words[0] == 1; }));
  job.stop(1);
  job.memory().words[2] = 1;
  CHECK(support::eventually([&] { return job.memory().words[1] == 1; }));
  job.kill(1);
  CHECK(job.wait() == "1: signal 9\n");
}

TEST_CASE("a_clock_that_jumps_takes_no_lock_from_a_holder_that_lives") {
  CHECK(support::run_members({.processes = 2}, [](Member& member, Thread& self) {
          LockSpaceOptions options = options_of<Dslr>();
          // Shorter than a leap, and long enough for an answer on a busy machine.
          options.lease = std::chrono::seconds(20);
          options.lease_clock = &LeaseClock::now;
          LockSpace space(self, options);
          SharedMutex<Dslr> mutex(space, LockId{{0}, 1});
          std::atomic<std::uint64_t>& looks = member.memory.words[0];
          for (const int hours : {1, -1}) {
            *LeaseClock::step = hours;
            looks = 0;
            if (member.rank == 1) mutex.lock();
            self.barrier();
            const std::int64_t before = *LeaseClock::hours;
            if (member.rank == 1) {
              // Meanwhile process 0, the home, has suspected it many times.
              serve_until_word(member, self, 0, 1);
              mutex.unlock();
            } else {
              dtutils::JoinableThread watch([&] {
                while (std::abs(*LeaseClock::hours - before) < 50) dtutils::give_way();
                looks = 1;
              });
              mutex.lock();
              watch.join();
              require(!mutex.owner_died(), "nobody died");
              mutex.unlock();
            }
            self.barrier();
            require(self.fabric().failures() == 0, "nobody was given up");
          }
        }) == "");
}
