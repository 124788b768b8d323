// SPDX-License-Identifier: MIT
// Coroutines that await results: functions of calls, and work of a worker.
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dsfabric/support/call_job.hpp"
#include "dsfabric/support/killed_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/per_process.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using namespace support;

namespace {

/// Counts what lives, to show that frames end.
struct Alive {
  Alive() { ++count(); }
  Alive(const Alive&) { ++count(); }
  Alive& operator=(const Alive&) = default;
  ~Alive() { --count(); }
  static int& count() {
    static support::PerProcess<int> living;
    return *living;
  }
};

/// Asks `to` for i, again and again.
Task<int> sum_of(Fabric& fabric, ThreadId to, int last) {
  const Alive alive;
  SendChannel calls(fabric);
  int sum = 0;
  for (int i = 1; i <= last; ++i) sum += co_await calls.call_return(to, [i] { return i; });
  co_return sum;
}

Task<std::string> nested(Fabric& fabric, ThreadId to) {
  const Alive alive;
  const int first = co_await sum_of(fabric, to, 3);
  const int second = co_await sum_of(fabric, to, 4);
  co_return std::to_string(first) + "+" + std::to_string(second);
}

Task<int> failing(Fabric& fabric, ThreadId to) {
  const Alive alive;
  SendChannel calls(fabric);
  co_return co_await calls.call_return(to, []() -> int { throw std::runtime_error("sold out"); });
}

}  // namespace

TEST_CASE("worker_runs_a_coroutine_that_awaits_results") {
  in_every_mode(2, 1, [](Thread& self) {
    Fabric& fabric = self.fabric();
    for (int i = 0; i < 20; ++i) {
      require_equal(sync_wait(fabric, sum_of(fabric, self.neighbour(1), i)), i * (i + 1) / 2,
                    "sum");
    }
    require(sync_wait(fabric, nested(fabric, self.neighbour(1))) == "6+10",
            "coroutines await coroutines");
    has(error_text([&] { (void)sync_wait(fabric, failing(fabric, self.neighbour(1))); }),
        "sold out");
    require_equal(Alive::count(), 0, "frames that live");
    self.barrier();
  });
}

TEST_CASE("coroutine_that_was_not_begun_or_not_ended_can_be_destroyed") {
  in_every_mode(2, 1, [](Thread& self) {
    Fabric& fabric = self.fabric();
    { const auto never = sum_of(fabric, self.neighbour(1), 5); }
    // A handler outside a fiber may not wait, so its coroutine ends where it is.
    SendChannel calls(fabric);
    auto refused = calls.call_return(self.neighbour(1), [](CallContext& call) {
      (void)sync_wait(call.fabric, sum_of(call.fabric, call.source, 5));
    });
    has(error_text([&] { refused.get(); }), "sync_wait()");
    wait_for_termination(self);
    require_equal(Alive::count(), 0, "frames that live");
  });
}

TEST_CASE("call_of_a_coroutine_ends_with_it") {
  in_every_mode(3, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    const ThreadId to = self.neighbour(1);
    const ThreadId third = self.neighbour(2);
    std::vector<RemoteFuture<int>> futures;
    for (int i = 0; i < 50; ++i) {
      futures.push_back(calls.call_return(to, [third, i](CallContext& call) -> Task<int> {
        const Alive alive;
        SendChannel inner(call.fabric);
        const int first = co_await inner.call_return(third, [i] { return i; });
        // The captures and the context are still there.
        const int second = co_await inner.call_return(call.source, [i] { return 2 * i; });
        co_return first + second + i;
      }));
    }
    for (int i = 0; i < 50; ++i) {
      require_equal(futures[static_cast<std::size_t>(i)].get(), 4 * i, "result");
    }
    // Without a result: termination waits for its end.
    require(calls.call(to,
                       [third](CallContext& call) -> Task<> {
                         SendChannel inner(call.fabric);
                         for (int i = 0; i < 10; ++i) co_await inner.call_return(third, [] {});
                         ++ledger().calls;
                       }) == CallStatus::kAccepted,
            "sent");
    wait_for_termination(self);
    require_equal(ledger().calls.load(), 1u, "the coroutine that was called has ended");
    require_equal(Alive::count(), 0, "frames that live");
  });
}

TEST_CASE("coroutine_keeps_its_arguments") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    const ThreadId to = self.neighbour(1);
    const auto ask_back = [](CallContext& call, const std::string& text,
                             const std::vector<int>& numbers) -> Task<std::string> {
      SendChannel inner(call.fabric);
      const int extra = co_await inner.call_return(call.source, [] { return 1; });
      co_return text + std::to_string(numbers.at(1) + extra);
    };
    const auto add = [](CallContext& call, const int& a, int b) -> Task<int> {
      SendChannel inner(call.fabric);
      co_await inner.call_return(call.source, [] {});
      co_return a + b;
    };
    for (int i = 0; i < 20; ++i) {
      auto text = calls.call_return(to, ask_back, std::string(50, 'x'), std::vector<int>{0, i});
      auto number = calls.call_return(to, add, i, 7);
      require(text.get() == std::string(50, 'x') + std::to_string(i + 1), "text");
      require_equal(number.get(), i + 7, "number");
    }
    require(calls.call(
                to,
                [](CallContext& call, const std::string& text) -> Task<> {
                  SendChannel inner(call.fabric);
                  co_await inner.call_return(call.source, [] {});
                  ledger().sum += text.size();
                },
                std::string(33, 'y')) == CallStatus::kAccepted,
            "sent");
    wait_for_termination(self);
    require_equal(ledger().sum.load(), 33u, "the argument was kept");
  });
}

TEST_CASE("exceptions_leave_coroutines_as_they_leave_functions") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    const ThreadId to = self.neighbour(1);
    auto failed = calls.call_return(to, [](CallContext& call) -> Task<int> {
      SendChannel inner(call.fabric);
      co_await inner.call_return(call.source, [] {});
      throw std::runtime_error("late");
    });
    has(error_text([&] { (void)failed.get(); }), "late");
    // Nobody waits: it goes to the upcall, or leaves progress().
    const auto fail = [](CallContext& call) -> Task<> {
      SendChannel inner(call.fabric);
      co_await inner.call_return(call.source, [] {});
      throw dtutils::Error("coroutine", "thrown in progress", "nothing");
    };
    // To itself: what others call could throw while this worker is in a barrier.
    require(calls.call(self.id(), fail) == CallStatus::kAccepted, "sent");
    std::string left = "(no error)";
    require(support::eventually([&] {
              left = error_text([&] { self.progress(); });
              return left != "(no error)";
            }),
            "it throws");
    has(left, "thrown in progress");
    self.fabric().on_exception([](const CallContext&, std::exception_ptr) { ++ledger().thrown; });
    self.barrier();
    require(calls.call(to, fail) == CallStatus::kAccepted, "sent");
    wait_for_termination(self);
    require_equal(ledger().thrown.load(), 1u, "reported");
  });
}

TEST_CASE("all_of_several_futures_are_awaited_at_once") {
  in_every_mode(2, 1, [](Thread& self) {
    Fabric& fabric = self.fabric();
    SendChannel calls(fabric);
    const ThreadId to = self.neighbour(1);
    std::vector<RemoteFuture<int>> many;
    for (int i = 0; i < 100; ++i) many.push_back(calls.call_return(to, [i] { return i; }));
    const std::vector<int> values = sync_wait(fabric, when_all(std::move(many)));
    for (int i = 0; i < 100; ++i) {
      require_equal(values.at(static_cast<std::size_t>(i)), i, "value");
    }
    const auto [number, text] =
        sync_wait(fabric, when_all(calls.call_return(to, [] { return 4; }),
                                   calls.call_return(to, [] { return std::string("four"); })));
    require(number == 4 && text == "four", "several types");
    std::vector<RemoteFuture<void>> done;
    for (int i = 0; i < 10; ++i) done.push_back(calls.call_return(to, [] { ++ledger().calls; }));
    sync_wait(fabric, when_all(std::move(done)));
    auto failing_one =
        when_all(calls.call_return(to, [] { return 1; }),
                 calls.call_return(to, []() -> int { throw std::runtime_error("one of them"); }));
    has(error_text([&] { (void)sync_wait(fabric, std::move(failing_one)); }), "one of them");
    self.barrier();
    require_equal(ledger().calls.load(), 10u, "executed");
  });
}

TEST_CASE("coroutine_that_awaits_a_dead_process_is_told") {
  const std::string ends = run_and_kill(2, 1, [](Member& member, Thread& self) {
    support::meet(member, self);
    if (member.rank == 1) support::serve_nothing();
    Fabric& fabric = self.fabric();
    const auto work = [](Fabric& its, Member& mine) -> Task<bool> {
      SendChannel calls(its);
      auto pending = calls.call_return(ThreadId{{1}, 0}, [] { return 1; });
      support::end_victim(mine.memory);
      try {
        co_await pending;
      } catch (const PeerFailed& failed) {
        co_return failed.process() == ProcessId{1};
      }
      co_return false;
    };
    require(sync_wait(fabric, work(fabric, member)), "the failure arrives");
  });
  CHECK(ends == "1: signal 9\n");
}
