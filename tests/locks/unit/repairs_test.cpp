// SPDX-License-Identifier: MIT
// What a home waits for before it repairs its locks, each by a schedule that would show it.
#include <cstdint>
#include <string>

#include "locks/support/simulated_locks.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace locks;
using namespace std::chrono_literals;
using dsfabric::PeerState;
using dsfabric::Thread;
using locks::detail::Point;
using support::await;
using support::run_nodes;
using support::serve_for;
using support::serve_while_waiting;
using support::SimulatedPoint;

namespace {

std::uint16_t process_of(const Thread& self) { return self.id().process.value; }

dtutils::Simulation& cluster() { return *dtutils::Simulation::current(); }

}  // namespace

TEST_CASE("a_repair_waits_for_the_end_of_a_step") {
  // 0 is the home, and holds the lock. The word names 1, which has told nobody, when 2 is given up.
  bool holds = false;
  bool placed = false;
  bool goes_on = false;
  bool ended = false;
  std::uint64_t early = 0;
  std::uint64_t late = 0;
  CHECK(run_nodes<Ncosed>(3, [&](Thread& self, LockSpace& space) {
          SharedMutex<Ncosed> mutex(space, LockId{{0}, 1});
          switch (process_of(self)) {
            case 0:
              mutex.lock();
              holds = true;
              serve_while_waiting(self, [&] { return placed; });
              self.fabric().fail({2}, "this test gives it up");
              serve_for(self, 20ms);
              early = space.repairs();
              goes_on = true;
              serve_for(self, 5ms);
              late = space.repairs();
              mutex.unlock();
              serve_while_waiting(self, [&] { return ended; });
              break;
            case 1:
              serve_while_waiting(self, [&] { return holds; });
              SimulatedPoint::hook = [&](Point reached) {
                if (reached != Point::kPlaced) return;
                placed = true;
                await([&] { return goes_on; });
              };
              mutex.lock();
              mutex.unlock();
              ended = true;
              break;
            default:
              serve_while_waiting(self, [&] { return ended; });
          }
        }) == "");
  CHECK(early == 0);
  CHECK(late == 1);
}

TEST_CASE("a_lock_is_passed_on_when_all_have_cut_the_holder_off") {
  // 1 holds a lock of 0, is stopped and given up, and writes to 2 when it wakes. The failure
  // detector's thread of 2 is busy with the end of 3 for longer than that.
  bool holds = false;
  bool given_up = false;
  bool detector_goes_on = false;
  bool ended = false;
  const std::uint64_t* data = nullptr;
  std::uint64_t when_passed_on = 0;
  std::uint64_t in_the_end = 0;
  const auto hold_detector = [&](dsfabric::Fabric& fabric) {
    if (fabric.process().value != 2) return;
    fabric.on_failure([&](dsfabric::ProcessId process, const std::string&) {
      if (process.value == 3) await([&] { return detector_goes_on; });
    });
  };
  CHECK(run_nodes<Ncosed>(
            4,
            [&](Thread& self, LockSpace& space) {
              dsfabric::SymmetricBuffer memory(self, 64);
              SharedMutex<Ncosed> mutex(space, LockId{{0}, 1});
              switch (process_of(self)) {
                case 0:
                  serve_while_waiting(self, [&] { return holds && data != nullptr; });
                  self.fabric().fail({3}, "this test gives it up");
                  serve_for(self, 2ms);
                  cluster().stop(1, 5ms);
                  cluster().at(cluster().time() + 10ms, [&] { detector_goes_on = true; });
                  self.fabric().fail({1}, "this test gives it up");
                  given_up = true;
                  mutex.lock();
                  when_passed_on = *data;
                  serve_for(self, 10ms);
                  in_the_end = *data;
                  mutex.unlock();
                  ended = true;
                  break;
                case 1: {
                  mutex.lock();
                  holds = true;
                  // It is stopped here.
                  await([&] { return given_up; });
                  std::uint64_t late = 99;
                  (void)self.transmitter({2}).write({&late, sizeof late, 0},
                                                    memory.at({{2}, 0}).part(0, sizeof late),
                                                    dtutils::kInlined);
                  mutex.unlock();
                  break;
                }
                case 2:
                  data = reinterpret_cast<const std::uint64_t*>(memory.data());
                  serve_while_waiting(self, [&] { return ended; });
                  break;
                default:
                  serve_while_waiting(self, [&] { return ended; });
              }
            },
            hold_detector) == "");
  CHECK(in_the_end == when_passed_on);
}

TEST_CASE("a_repair_does_not_wait_for_the_fence_of_a_process_that_has_left") {
  // 3 dies. 2 leaves after that, which 1 hears before 0 gives 2 up.
  bool heard = false;
  bool ended = false;
  std::uint64_t repairs = 0;
  CHECK(run_nodes<Ncosed>(4, [&](Thread& self, LockSpace& space) {
          dsfabric::Fabric& fabric = self.fabric();
          switch (process_of(self)) {
            case 0:
              serve_while_waiting(self, [&] { return heard; });
              support::require(fabric.state({2}) == PeerState::kActive, "0 has not heard it");
              fabric.fail({2}, "suspected in error");
              serve_for(self, 50ms);
              repairs = space.repairs();
              ended = true;
              break;
            case 1:
              serve_while_waiting(self, [&] { return fabric.state({2}) == PeerState::kLeft; });
              heard = true;
              serve_while_waiting(self, [&] { return ended; });
              break;
            case 2:
              serve_while_waiting(self, [&] { return fabric.failed({3}); });
              serve_for(self, 5ms);
              cluster().delay(0, 2, 100ms);
              break;
            default:
              simulation::die();
          }
        }) == "");
  CHECK(repairs == 2);
}

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

TEST_CASE("all_hear_of_a_failure_during_a_repair_that_waits_for_a_step") {
  // 3 is given up. 0 repairs, and waits for a step of 1, when all others have answered. Then it
  // gives up 4, which is stopped.
  bool placed = false;
  bool goes_on = false;
  bool heard = false;
  std::uint64_t repairs = 0;
  CHECK(run_nodes<Ncosed>(5, [&](Thread& self, LockSpace& space) {
          dsfabric::Fabric& fabric = self.fabric();
          SharedMutex<Ncosed> mutex(space, LockId{{0}, 1});
          switch (process_of(self)) {
            case 0:
              serve_while_waiting(self, [&] { return placed; });
              fabric.fail({3}, "this test gives it up");
              serve_for(self, 5ms);
              cluster().stop(4, 500ms);
              fabric.fail({4}, "this test gives it up");
              serve_for(self, 20ms);
              goes_on = true;
              serve_for(self, 20ms);
              repairs = space.repairs();
              break;
            case 1:
              SimulatedPoint::hook = [&](Point reached) {
                if (reached != Point::kPlaced) return;
                placed = true;
                await([&] { return goes_on; });
              };
              mutex.lock();
              mutex.unlock();
              break;
            case 2:
              serve_while_waiting(self, [&] { return goes_on; });
              heard = fabric.failed({4});
              break;
            default:
              serve_while_waiting(self, [&] { return goes_on; });
          }
        }) == "");
  CHECK(heard);
  CHECK(repairs != 0);
}
