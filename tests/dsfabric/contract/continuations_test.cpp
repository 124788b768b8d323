// SPDX-License-Identifier: MIT
// What follows a result: continuations of futures, and who waits for them.
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsfabric/support/call_job.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/per_process.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using namespace support;

namespace {

/// How often the continuations of this process have run.
int& followed() {
  static support::PerProcess<int> count;
  return *count;
}

}  // namespace

TEST_CASE("continuation_gets_the_result_in_progress") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    followed() = 0;
    int sum = 0;
    bool in_handler = true;
    std::string failure;
    for (int i = 0; i < 30; ++i) {
      calls.call_return(self.neighbour(1), [i] { return i; }).then([&](int value) {
        sum += value;
        in_handler = in_handler && self.in_handler();
      });
    }
    calls.call_return(self.neighbour(1), [] {}).then([] { ++followed(); });
    calls.call_return(self.neighbour(1), []() -> int { throw std::runtime_error("sold out"); })
        .then([&](RemoteFuture<int> ready) {
          require(ready.ready(), "it is there");
          failure = error_text([&] { (void)ready.get(); });
        });
    // Larger than what a state keeps, and not copyable.
    std::array<int, 60> large{};
    large.back() = 7;
    calls.call_return(self.neighbour(1), [] { return 1; })
        .then([large, unique = std::make_unique<int>(4), &sum](int value) {
          sum += value * *unique * large.back();
        });
    serve_until(self,
                [&] { return sum == 29 * 30 / 2 + 28 && followed() == 1 && !failure.empty(); });
    has(failure, "sold out");
    require(in_handler, "continuations run as handlers");
    self.barrier();
  });
}

TEST_CASE("what_a_continuation_cannot_be_told_goes_to_the_upcall") {
  in_every_mode(2, 1, [](Thread& self) {
    static support::PerProcess<std::atomic<int>> reported;
    self.fabric().on_exception([](const CallContext&, std::exception_ptr thrown) {
      const std::string text = error_text([&] { std::rethrow_exception(thrown); });
      if (text.find("sold out") != std::string::npos) ++*reported;
    });
    *reported = 0;
    SendChannel calls(self.fabric());
    bool ran = false;
    calls.call_return(self.neighbour(1), []() -> int { throw std::runtime_error("sold out"); })
        .then([&](int) { ran = true; });
    calls.call_return(self.neighbour(1), [] {}).then([] {
      throw dtutils::Error("continuation", "sold out too", "nothing");
    });
    serve_until(self, [] { return *reported == 2; });
    require(!ran, "there is no value");
    self.barrier();
  });
}

TEST_CASE("end_of_the_run_and_termination_wait_for_continuations") {
  support::FabricJob job{.processes = 2, .runs = 3};
  in_every_mode(job, [](Thread& self) {
    SendChannel calls(self.fabric());
    followed() = 0;
    static support::PerProcess<std::uint32_t> runs;
    require_equal(*runs, static_cast<std::uint32_t>(ledger().wrong.load()), "all had followed");
    // Each continuation calls on, and its call has a continuation.
    struct Chain {
      Fabric& fabric;
      ThreadId to;
      int left;
      void operator()() const {
        ++followed();
        if (left == 0) return;
        SendChannel next(fabric);
        next.call_return(to, [] {}).then(Chain{fabric, to, left - 1});
      }
    };
    calls.call_return(self.neighbour(1), [] {}).then(Chain{self.fabric(), self.neighbour(1), 9});
    wait_for_termination(self);
    require_equal(followed(), 10, "the chain has ended");
    ++*runs;
    calls.call_return(self.neighbour(1), [] {}).then([] { ++ledger().wrong; });
  });
}

TEST_CASE("termination_waits_for_a_long_chain_of_continuations") {
  in_every_mode(1, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    // A step of progress runs one of them, so waves of termination come in between.
    std::vector<RemoteFuture<void>> answers;
    for (int i = 0; i < 300; ++i) answers.push_back(calls.call_return(self.id(), [] {}));
    for (auto& answer : answers) {
      require(answer.wait_for(std::chrono::seconds(20)), "the answer has come");
    }
    struct Next {
      std::vector<RemoteFuture<void>>& answers;
      std::size_t number;
      void operator()() const {
        ++followed();
        if (number == answers.size()) return;
        answers[number].then(Next{answers, number + 1});
      }
    };
    followed() = 0;
    answers[0].then(Next{answers, 1});
    wait_for_termination(self);
    require_equal(followed(), 300, "the chain has ended");
  });
}
