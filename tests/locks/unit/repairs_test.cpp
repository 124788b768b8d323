// SPDX-License-Identifier: MIT
// What a home waits for before it repairs its locks, each by a schedule that would show it.
#include <cstdint>

#include "locks/support/simulated_locks.hpp"
#include "support/catch.hpp"

using namespace locks;
using namespace std::chrono_literals;
using dsfabric::Thread;
using locks::detail::Point;
using support::run_nodes;
using support::serve_for;
using support::serve_while_waiting;
using support::SimulatedPoint;

namespace {

std::uint16_t process_of(const Thread& self) { return self.id().process.value; }

dtutils::Simulation& cluster() { return *dtutils::Simulation::current(); }

}  // namespace

TEST_CASE("a_repair_waits_for_what_was_posted_and_takes_its_time") {
  // 1 releases a lock of 0; 2 stands behind it and has told it, which takes longer than a look at
  // what is on its way. 3 is given up meanwhile. If the home passed the lock on before 2 had told
  // 1, then 1 would take 2 for its follower still, and would grant it the lock that 1 has taken
  // again.
  bool holds = false;
  bool told = false;
  bool releasing = false;
  bool passed_on = false;
  bool holds_again = false;
  bool both = false;
  bool ended = false;
  CHECK(run_nodes<Ncosed>(4, [&](Thread& self, LockSpace& space) {
          SharedMutex<Ncosed> mutex(space, LockId{{0}, 1});
          switch (process_of(self)) {
            case 0:
              serve_while_waiting(self, [&] { return releasing; });
              serve_for(self, 100us);
              self.fabric().fail({3}, "this test gives it up");
              serve_while_waiting(self, [&] { return ended; });
              break;
            case 1:
              mutex.lock();
              holds = true;
              serve_while_waiting(self, [&] { return told; });
              releasing = true;
              mutex.unlock();
              serve_while_waiting(self, [&] { return passed_on; });
              mutex.lock();
              holds_again = true;
              serve_for(self, 1s);
              holds_again = false;
              mutex.unlock();
              break;
            case 2:
              serve_while_waiting(self, [&] { return holds; });
              SimulatedPoint::hook = [&](Point reached) {
                if (reached == Point::kPlaced) cluster().delay(1, 2, 400ms);
                told = told || reached == Point::kTold;
              };
              mutex.lock();
              mutex.unlock();
              passed_on = true;
              serve_while_waiting(self, [&] { return holds_again; });
              mutex.lock();
              both = holds_again;
              mutex.unlock();
              ended = true;
              break;
            default:
              serve_while_waiting(self, [&] { return ended; });
          }
        }) == "");
  CHECK(!both);
}
