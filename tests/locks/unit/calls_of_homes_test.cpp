// SPDX-License-Identifier: MIT
// Calls between homes and others that come late, or in another order.
#include <array>
#include <cstdint>

#include "dsfabric/send_channel.hpp"
#include "locks/support/simulated_locks.hpp"
#include "space_core.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace locks;
using namespace locks::detail;
using namespace std::chrono_literals;
using dsfabric::ThreadId;
using support::run_nodes;
using support::serve_while_waiting;

namespace {

bool service_thread_is_busy = false;
bool service_thread_goes_on = false;

void keep_busy() {
  service_thread_is_busy = true;
  support::await([] { return service_thread_goes_on; });
}

}  // namespace

TEST_CASE("calls_of_a_home_that_run_late_neither_end_a_freeze_nor_begin_one") {
  bool ended = false;
  CHECK(run_nodes<Ncosed>(2, [&](dsfabric::Thread& self, LockSpace&) {
          if (self.id().process.value == 0) {
            serve_while_waiting(self, [&] { return ended; });
            return;
          }
          const auto core = SpaceCore::find(self.fabric(), 0);
          const dsfabric::ProcessId home{0};
          CHECK(core->freeze(home, 1, {}) == FreezeAnswer::kReady);
          core->thaw(home, 1);
          CHECK(core->frozen() == 0);
          // The second repair begins, and the end of the first one is told twice.
          CHECK(core->freeze(home, 2, {}) == FreezeAnswer::kReady);
          core->thaw(home, 1);
          CHECK(core->frozen() == 1);
          CHECK(core->frozen_by().size() == 1);
          // The third one begins before the end of the second one is heard.
          CHECK(core->freeze(home, 3, {}) == FreezeAnswer::kReady);
          core->thaw(home, 2);
          CHECK(core->frozen() == 1);
          core->thaw(home, 3);
          CHECK(core->frozen() == 0);
          // A question of a round that was begun again.
          CHECK(core->freeze(home, 3, {}) == FreezeAnswer::kNotYet);
          CHECK(core->frozen() == 0);
          ended = true;
        }) == "");
}

TEST_CASE("who_has_given_up_a_home_does_not_answer_that_it_stands_still_for_it") {
  bool ended = false;
  CHECK(run_nodes<Ncosed>(2, [&](dsfabric::Thread& self, LockSpace&) {
          if (self.id().process.value == 0) {
            serve_while_waiting(self, [&] { return ended; });
            return;
          }
          self.fabric().fail({0}, "this test gives it up");
          const auto core = SpaceCore::find(self.fabric(), 0);
          CHECK(core->freeze({0}, 1, {}) == FreezeAnswer::kNotYet);
          CHECK(core->frozen() == 0);
          ended = true;
        }) == "");
}

TEST_CASE("a_server_takes_out_those_whom_all_have_cut_off_and_nobody_else") {
  // 1 holds the lock and 2 waits, when 0 gives up both; all have cut off 2.
  bool ended = false;
  CHECK(run_nodes<Srsl>(3, [&](dsfabric::Thread& self, LockSpace&) {
          if (self.id().process.value != 0) {
            serve_while_waiting(self, [&] { return ended; });
            return;
          }
          SrslServer& server = SpaceCore::find(self.fabric(), 0)->server();
          const auto request_of = [](std::uint32_t rank) {
            return SrslRequest{64, place_number(rank, 0), Mode::kExclusive};
          };
          server.request(request_of(1));
          server.request(request_of(2));
          self.fabric().fail({1}, "this test gives it up");
          self.fabric().fail({2}, "this test gives it up");
          server.remove_dead(std::array<std::uint16_t, 1>{2});
          CHECK(server.try_request(request_of(0)) == SrslServer::kRefused);
          server.remove_dead(std::array<std::uint16_t, 2>{1, 2});
          CHECK(server.try_request(request_of(0)) ==
                static_cast<std::uint32_t>(Verdict::kOwnerDied));
          server.release(request_of(0));
          ended = true;
        }) == "");
}

TEST_CASE("a_request_that_a_server_reads_after_its_sender_was_taken_out_is_dropped") {
  // The service thread of 0 is busy when the request of 1 comes, until the repair is over. 1 dies
  // when its message has arrived.
  service_thread_is_busy = false;
  service_thread_goes_on = false;
  bool asked = false;
  bool got = false;
  bool ended = false;
  CHECK(run_nodes<Srsl>(3, [&](dsfabric::Thread& self, LockSpace& space) {
          SharedMutex<Srsl> mutex(space, LockId{{0}, 1});
          switch (self.id().process.value) {
            case 0:
              // This worker serves nothing, so that the service thread has all messages.
              support::await([&] { return space.repairs() == 1; });
              service_thread_goes_on = true;
              serve_while_waiting(self, [&] { return ended; });
              break;
            case 1:
              serve_while_waiting(self, [&] { return service_thread_is_busy; });
              support::SimulatedPoint::hook = [&](Point reached) {
                if (reached != Point::kTold) return;
                dtutils::sleep_for(100us);
                asked = true;
                support::crash_here();
              };
              mutex.lock();
              break;
            default: {
              dsfabric::SendChannel calls(self.fabric());
              support::require(calls.call(ThreadId::service_of({0}), [] { keep_busy(); }),
                               "the call");
              serve_while_waiting(self, [&] { return service_thread_goes_on; });
              dtutils::sleep_for(1ms);
              got = mutex.try_lock_for(100ms);
              if (got) mutex.unlock();
              ended = true;
            }
          }
        }) == "");
  CHECK(asked);
  CHECK(got);
}
