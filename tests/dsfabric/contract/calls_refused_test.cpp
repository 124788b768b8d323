// SPDX-License-Identifier: MIT
// Calls that cannot be: unknown threads, corrupt records, destinations that are gone.
#include <cstring>
#include <string>

#include "dsfabric/detail/call_record.hpp"
#include "dsfabric/support/call_job.hpp"
#include "dsfabric/support/killed_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::error_text;
using support::has;
using support::in_every_mode;
using support::Member;
using support::require;
using support::require_equal;
using support::run_and_kill;
using support::serve_until;

TEST_CASE("unknown_thread_is_refused_at_the_sender") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    for (const ThreadId to : {ThreadId{{0}, 7}, ThreadId{{9}, 0}, ThreadId::service_of({9})}) {
      has(error_text([&] { (void)calls.call(to, [] {}); }), "no such");
      // The slot is free for another call.
      ReturnSlot<int> slot(self.fabric());
      has(error_text([&] {
            (void)calls.call_return(
                to, [] { return 1; }, slot);
          }),
          "no such");
      require(calls.call_return(
                  self.neighbour(1), [] { return 2; }, slot),
              "sent");
      require_equal(slot.get(), 2, "result");
    }
    self.barrier();
  });
}

TEST_CASE("process_that_does_not_exist_is_refused_and_changes_nothing") {
  in_every_mode(2, 1, [](Thread& self) {
    Fabric& fabric = self.fabric();
    for (const ProcessId nobody : {ProcessId{2}, ProcessId{999}, ProcessId{0xffff}}) {
      require(fabric.failed(nobody), "nobody counts as failed");
      require_equal(fabric.info(nobody).threads, 0u, "workers of nobody");
      require(!fabric.connected(nobody), "nobody is connected");
      fabric.fail(nobody, "a test");
      has(error_text([&] { (void)fabric.transmitter(nobody); }), "no process");
      has(error_text([&] { (void)fabric.allocate_remote(nobody, 64); }), "no process");
      has(error_text([&] { (void)fabric.allocate_near({nobody, 0}, 64); }), "no worker");
    }
    has(error_text([&] { (void)fabric.allocate_near({self.id().process, 7}, 64); }), "no worker");
    require_equal(fabric.failures(), 0u, "failures");
    self.barrier();
  });
}

TEST_CASE("corrupt_record_fails_its_sender_and_nobody_else") {
  const std::string ends = run_and_kill(3, 2, [](Member& member, Thread& self) {
    Fabric& fabric = self.fabric();
    if (member.rank == 2) {
      SendSpace space(fabric, ProcessId{0}, 64);
      require(static_cast<bool>(space), "there is space");
      const dsfabric::detail::RecordHeader header{
          dsfabric::detail::FunctionTable::instance().size() + 5, 8};
      std::memset(space.payload(), 0, 64);
      std::memcpy(space.payload(), &header, sizeof header);
      require(space.commit(MessageKind::kCall, ThreadId{{0}, 0}), "sent");
      support::serve_nothing();
    } else if (member.rank == 0) {
      serve_until(self, [&] { return fabric.failed(ProcessId{2}); });
      has(fabric.failure_reason(ProcessId{2}), "invalid message");
      // The other one is well.
      SendChannel calls(fabric);
      ReturnSlot<int> slot(fabric);
      require(calls.call_return(
                  ThreadId{{1}, 0}, [] { return 4; }, slot),
              "sent");
      require_equal(slot.get(), 4, "result");
      require(calls.call_return(
                  ThreadId{{2}, 0}, [] { return 4; }, slot) == CallStatus::kPeerGone,
              "refused");
      has(error_text([&] { slot.get(); }), "is gone");
      support::end_victim(member.memory);
    } else {
      serve_until(self, [&] { return support::victim_may_end(member.memory); });
    }
  });
  CHECK(ends == "2: signal 9\n");
}

TEST_CASE("killed_destination_ends_every_wait_for_it") {
  const std::string ends = run_and_kill(2, 1, [](Member& member, Thread& self) {
    support::meet(member, self);
    if (member.rank == 1) support::serve_nothing();
    SendChannel calls(self.fabric());
    ReturnSlot<int> slot(self.fabric());
    require(calls.call_return(
                ThreadId{{1}, 0}, [] { return 1; }, slot),
            "sent");
    support::end_victim(member.memory);
    const std::uint16_t lost = [&] {
      try {
        slot.get();
      } catch (const PeerFailed& failed) {
        has(failed.what(), "is gone");
        return failed.process().value;
      }
      return std::uint16_t{99};
    }();
    require_equal(lost, 1, "the process that failed");
    dtutils::Synchronizer sent(1);
    require(calls.call(
                ThreadId{{1}, 0}, [] {}, &sent) == CallStatus::kPeerGone,
            "refused");
    require(sent.wait() == dtutils::Synchronizer::Outcome::kFailed, "and said so");
  });
  CHECK(ends == "1: signal 9\n");
}
