// SPDX-License-Identifier: MIT
// Calls by messages between processes: where they run, in which order, and who may make them.
#include <chrono>
#include <cstdint>

#include "dsfabric/support/call_job.hpp"
#include "dtutils/joinable_thread.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/per_process.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::in_every_mode;
using support::ledger;
using support::require;
using support::require_equal;
using support::serve_until;

TEST_CASE("handlers_call_through_a_channel_that_waits_for_room") {
  in_every_mode(2, 1, [](Thread& self) {
    static support::PerProcess<SendChannel*> channel;
    SendChannel calls(self.fabric());
    *channel = &calls;
    constexpr std::uint64_t kCalls = 3000;
    self.barrier();
    for (std::uint64_t i = 0; i < kCalls; ++i) {
      const auto sent = calls.call(self.neighbour(1), [i](CallContext& call) {
        require((*channel)->call(call.source, [i] { ++ledger().calls, ledger().sum += i; }),
                "the answer is sent");
      });
      require(sent, "the call is sent");
    }
    serve_until(self, [] { return ledger().calls == kCalls; });
    require_equal(ledger().sum.load(), kCalls * (kCalls - 1) / 2, "the sum of all answers");
    self.barrier();
  });
}

TEST_CASE("call_runs_once_at_the_worker_it_names") {
  in_every_mode(3, 2, [](Thread& self) {
    SendChannel calls(self.fabric());
    for (std::uint32_t rank = 0; rank < self.fabric().total_threads(); ++rank) {
      const ThreadId to = self.fabric().thread_of_rank(rank);
      const auto sent = calls.call(to, [to, from = self.id()](CallContext& call) {
        const bool right = call.worker != nullptr && call.worker->id() == to &&
                           call.source == from && call.fabric.current_thread() == call.worker;
        ledger().wrong += !right;
        ++ledger().calls;
      });
      require(sent, "the call is sent");
    }
    serve_until(self, [] { return ledger().calls == 2 * 6; });
    self.barrier();
    require_equal(ledger().wrong.load(), 0u, "calls that ran somewhere else");
    require_equal(ledger().calls.load(), 12u, "calls");
  });
}

TEST_CASE("calls_from_one_thread_to_another_keep_their_order") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    for (std::uint64_t i = 0; i < 3000; ++i) {
      require(calls.call(self.neighbour(1), [i] { ledger().wrong += ledger().calls++ != i; }),
              "the call is sent");
    }
    serve_until(self, [] { return ledger().calls == 3000; });
    self.barrier();
    require_equal(ledger().wrong.load(), 0u, "calls out of order");
  });
}

TEST_CASE("service_call_runs_without_a_worker") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    const ProcessId other = self.neighbour(1).process;
    require(calls.call(ThreadId::service_of(other),
                       [](CallContext& call) {
                         ledger().wrong += call.worker != nullptr;
                         ++ledger().calls;
                       }),
            "the call is sent");
    // Only looks: the service thread does the work.
    dtutils::Deadline deadline(std::chrono::seconds(20));
    dtutils::Backoff backoff;
    while (ledger().calls == 0 && !deadline.passed()) backoff.pause();
    require_equal(ledger().calls.load(), 1u, "service calls");
  });
}

TEST_CASE("service_call_runs_in_waiting_workers_when_there_is_no_service_thread") {
  in_every_mode(
      2, 1,
      [](Thread& self) {
        SendChannel calls(self.fabric());
        ReturnSlot<std::uint32_t> slot(self.fabric());
        const ProcessId other = self.neighbour(1).process;
        require(calls.call_return(
                    ThreadId::service_of(other), [] { return 11u; }, slot),
                "sent");
        require_equal(slot.get(), 11u, "result");
        self.barrier();
      },
      0);
}

TEST_CASE("sent_synchronizer_tells_of_transmission") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    dtutils::Synchronizer sent(100);
    for (int i = 0; i < 100; ++i) {
      require(calls.call(
                  self.neighbour(1), [] { ++ledger().calls; }, &sent),
              "sent");
    }
    require(sent.wait() == dtutils::Synchronizer::Outcome::kDone, "all are transmitted");
    serve_until(self, [] { return ledger().calls == 100; });
    self.barrier();
  });
}

TEST_CASE("callable_calls_back_from_where_it_runs") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    require(calls.call(self.neighbour(1),
                       [](CallContext& call) {
                         SendChannel back(call.fabric);
                         const auto sent = back.call(call.source, [] { ++ledger().calls; });
                         ledger().wrong += sent != CallStatus::kAccepted;
                       }),
            "sent");
    serve_until(self, [] { return ledger().calls == 1; });
    self.barrier();
    require_equal(ledger().wrong.load(), 0u, "refused calls");
  });
}

TEST_CASE("thread_that_is_no_worker_calls_out_without_any_set_up") {
  in_every_mode(2, 1, [](Thread& self) {
    dtutils::JoinableThread outside([&] {
      SendChannel calls(self.fabric());
      ReturnSlot<int> slot(self.fabric());
      for (int i = 0; i < 50; ++i) {
        const auto sent = calls.call_return(
            self.neighbour(1), [i] { return i; }, slot);
        ledger().wrong += sent != CallStatus::kAccepted;
        ledger().wrong += slot.get() != i;
      }
      ++ledger().calls;
    });
    serve_until(self, [] { return ledger().calls == 1; });
    outside.join();
    self.barrier();
    require_equal(ledger().wrong.load(), 0u, "wrong results");
  });
}

TEST_CASE("same_object_is_found_on_every_thread") {
  in_every_mode(2, 2, [](Thread& self) {
    struct Counter {
      std::uint64_t value = 0;
    } mine;
    DistributedObject<Counter> counters(self, mine);
    SendChannel calls(self.fabric());
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      const ThreadId to = self.fabric().thread_of_rank(rank);
      const auto there = counters.on(to);
      require(there.get(self.fabric()) == nullptr || to.process == self.id().process,
              "only the owner gets the pointer");
      require(calls.call(to, [there, rank](
                                 CallContext& call) { there.get(call.fabric)->value += rank + 1; }),
              "sent");
    }
    const std::uint64_t rank = self.fabric().rank_of(self.id());
    serve_until(self, [&] { return mine.value == 4 * (rank + 1); });
    self.barrier();
  });
}
