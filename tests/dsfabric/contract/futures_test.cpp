// SPDX-License-Identifier: MIT
// Results as values: futures that are awaited, or forgotten.
#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsfabric/support/call_job.hpp"
#include "dsfabric/support/killed_job.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using namespace support;

namespace {

struct LargeValue {
  std::array<std::uint32_t, 5000> words;
};

}  // namespace

TEST_CASE("futures_bring_results_of_any_size") {
  in_every_mode(3, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    for (std::uint32_t i = 0; i < 42; ++i) {
      const ThreadId to = self.fabric().thread_of_rank(i % 3);
      auto byte = calls.call_return(to, [i] { return static_cast<std::uint8_t>(i); });
      auto word = calls.call_return(to, [i] { return std::uint64_t{i} << 40; });
      auto large = calls.call_return(to, [i] {
        LargeValue value;
        value.words.fill(i);
        return value;
      });
      auto nothing = calls.call_return(to, [] { ++ledger().calls; });
      require(byte.status() == CallStatus::kAccepted && byte.valid(), "accepted");
      nothing.get();
      require_equal(word.get(), std::uint64_t{i} << 40, "word");
      const LargeValue value = large.get();
      require(value.words.front() == i && value.words.back() == i, "large value");
      require_equal(std::uint32_t{byte.get()}, i, "byte");
      require(!byte.valid(), "the result was taken");
    }
    self.barrier();
    require_equal(ledger().calls.load(), 42u, "calls without a result");
  });
}

TEST_CASE("exception_of_a_call_is_thrown_by_its_future") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    auto failed = calls.call_return(self.neighbour(1),
                                    []() -> int { throw std::runtime_error("no bread left"); });
    has(error_text([&] { (void)failed.get(); }), "no bread left");
    require(!failed.valid(), "the failure was taken");
    self.barrier();
  });
}

TEST_CASE("future_can_be_awaited_for_a_while") {
  in_every_mode(2, 1, [](Thread& self) {
    using namespace std::chrono_literals;
    SendChannel calls(self.fabric());
    const ThreadId other = self.neighbour(1);
    if (self.id().process.value == 0) {
      serve_until(self, [] { return ledger().calls == 1; });
      // The other one makes no progress until its service thread was called.
      auto late = calls.call_return(other, [] { return 5; });
      require(!late.wait_for(0ns) && !late.ready(), "nothing has come");
      require(!late.wait_for(20ms) && late.valid(), "nothing has come in time");
      require(calls.call(ThreadId::service_of(other.process), [] { ledger().sum = 1; }) ==
                  CallStatus::kAccepted,
              "sent");
      require(late.wait_for(20s), "it has come");
      require_equal(late.get(), 5, "result");
    } else {
      require(calls.call(other, [] { ++ledger().calls; }) == CallStatus::kAccepted, "sent");
      while (ledger().sum == 0) dtutils::sleep_for(1ms);
    }
    self.barrier();
  });
}

TEST_CASE("futures_that_nobody_waits_for_are_forgotten_and_their_memory_is_used_again") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    constexpr std::uint64_t kRounds = 100;
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      {
        auto forgotten = calls.call_return(self.neighbour(1), [i] {
          ++ledger().calls;
          return i;
        });
        auto moved = std::move(forgotten);
        require(!forgotten.valid() && moved.valid(), "moved");
        moved = calls.call_return(self.neighbour(1), [i] { return i + 1; });
      }
      // The result of a forgotten call must not come into a later one.
      require_equal(calls.call_return(self.neighbour(1), [i] { return i + 2; }).get(), i + 2,
                    "result");
    }
    wait_for_termination(self);
    require_equal(ledger().calls.load(), kRounds, "forgotten calls ran");
    detail::FuturePool& pool = detail::FuturePool::of(self.fabric());
    serve_until(self, [&] { return pool.idle(); });
    require(pool.made() <= 64, "states were used again: " + std::to_string(pool.made()));
    const std::size_t made = pool.made();
    for (int i = 0; i < 200; ++i) {
      require_equal(calls.call_return(self.neighbour(1), [i] { return i; }).get(), i, "result");
    }
    require_equal(pool.made(), made, "no state is made once there are enough");
    self.barrier();
  });
}

TEST_CASE("handler_that_would_wait_for_a_future_is_told_how_to") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    const auto ask = [&](const auto& forbidden) {
      auto answer = calls.call_return(self.neighbour(1), forbidden);
      return error_text([&] { answer.get(); });
    };
    // A call of a worker to itself cannot have been answered while its handler runs.
    const std::string text = ask([](CallContext& call) {
      SendChannel inner(call.fabric);
      (void)inner.call_return(call.worker->id(), [] { return 5; }).get();
    });
    has(text, "RemoteFuture::get()");
    has(text, "in_fiber");
    has(ask([](CallContext& call) {
          SendChannel inner(call.fabric);
          (void)inner.call_return(call.worker->id(), [] {}).wait_for(std::chrono::seconds(1));
        }),
        "RemoteFuture::wait_for()");
    self.barrier();
  });
}

TEST_CASE("a_future_without_a_call_says_so") {
  in_every_mode(1, 1, [](Thread& self) {
    RemoteFuture<int> none;
    has(error_text([&] { (void)none.get(); }), "no call belongs");
    has(error_text([&] { (void)none.wait_for(std::chrono::milliseconds(1)); }), "no call belongs");
    SendChannel calls(self.fabric());
    auto once = calls.call_return(self.id(), [] { return 1; });
    require(once.get() == 1, "the result");
    has(error_text([&] { (void)once.get(); }), "no call belongs");
    has(error_text([&] { self.fabric().run({}); }), "there is no work");
  });
}

TEST_CASE("calls_that_cannot_be_made_give_failed_futures") {
  const std::string ends = run_and_kill(2, 1, [](Member& member, Thread& self) {
    support::meet(member, self);
    if (member.rank == 1) support::serve_nothing();
    Fabric& fabric = self.fabric();
    SendChannel calls(fabric);
    const ThreadId victim{{1}, 0};
    has(error_text([&] { (void)calls.call_return(ThreadId{{9}, 0}, [] {}); }), "no such");
    auto pending = calls.call_return(victim, [] { return 1; });
    bool told = false;
    calls.call_return(victim, [] { return 1; }).then([&](RemoteFuture<int> ready) {
      try {
        (void)ready.get();
      } catch (const PeerFailed& failed) {
        told = failed.process() == ProcessId{1};
      }
    });
    (void)calls.call_return(victim, [] { return 1; });  // forgotten
    support::end_victim(member.memory);
    const auto lost = [](auto& future) {
      try {
        future.get();
      } catch (const PeerFailed& failed) {
        return failed.process() == ProcessId{1};
      }
      return false;
    };
    require(lost(pending), "who waits learns of the death");
    serve_until(self, [&] { return told; });
    auto refused = calls.call_return(victim, [] {});
    require(refused.status() == CallStatus::kPeerGone && refused.ready(), "refused");
    require(lost(refused), "the refusal is thrown");
    serve_until(self, [&] { return detail::FuturePool::of(fabric).idle(); });
  });
  CHECK(ends == "1: signal 9\n");
}

TEST_CASE("too_many_awaited_results_are_refused_until_some_have_come") {
  in_every_mode({.processes = 1}, [](Thread& self) {
    SendChannel calls(self.fabric());
    std::vector<RemoteFuture<void>> futures;
    while (futures.empty() || futures.back().status() == CallStatus::kAccepted) {
      futures.push_back(calls.call_return(self.id(), [] {}));
      require(futures.size() <= 5000, "there is a limit");
    }
    require(futures.back().status() == CallStatus::kFull, "full");
    has(error_text([&] { futures.back().get(); }), "kFull");
    futures.pop_back();
    for (auto& future : futures) future.get();
    calls.call_return(self.id(), [] {}).get();
  });
}

TEST_CASE("a_call_on_a_broken_connection_fails_as_its_peer_before_the_detector_knows") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    // Longer than the test: only the connection tells of the death.
    config.watch_interval = std::chrono::hours(1);
    config.leave_timeout = std::chrono::milliseconds(100);
    Fabric fabric = member.join(config);
    SendChannel calls(fabric);
    if (member.rank == 1) {
      member.memory.words[0] = 1;
      for (;;) dtutils::sleep_for(std::chrono::seconds(1));
    }
    require(eventually([&] { return member.memory.words[1] != 0; }), "it was killed");
    require(eventually([&] {
              auto refused = calls.call_return(ThreadId{{1}, 0}, [] { return 1; });
              // Until the connection has broken a call is accepted, and waits; nobody waits for it.
              if (refused.status() == CallStatus::kAccepted) {
                fabric.progress();
                return false;
              }
              try {
                refused.get();
              } catch (const PeerFailed& failed) {
                return failed.process() == ProcessId{1};
              }
              return false;
            }),
            "the refusal names the process");
  });
  REQUIRE(eventually([&] { return job.memory().words[0] != 0; }));
  job.kill(1);
  job.memory().words[1] = 1;
  CHECK(job.wait() == "1: signal 9\n");
}
