// SPDX-License-Identifier: MIT
// Calls that answer: results of any size, exceptions, and callers that wait for each other.
#include <array>
#include <numeric>
#include <stdexcept>
#include <string>

#include "dsfabric/support/call_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::error_text;
using support::has;
using support::in_every_mode;
using support::ledger;
using support::require;
using support::require_equal;

TEST_CASE("results_of_any_size_come_home") {
  in_every_mode(3, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    struct Medium {
      std::array<std::uint32_t, 30> words;
    };
    struct Large {
      std::array<std::uint32_t, 5000> words;
    };
    ReturnSlot<std::uint8_t> byte(self.fabric());
    ReturnSlot<std::uint64_t> word(self.fabric());
    ReturnSlot<Medium> medium(self.fabric());
    ReturnSlot<Large> large(self.fabric());
    ReturnSlot<void> nothing(self.fabric());
    for (std::uint32_t i = 0; i < 60; ++i) {
      const ThreadId to = self.fabric().thread_of_rank(i % 3);
      require(calls.call_return(
                  to, [i] { return std::uint8_t(i); }, byte),
              "sent");
      require_equal(std::uint32_t{byte.get()}, i, "byte");
      require(calls.call_return(
                  to, [i] { return std::uint64_t{i} << 40; }, word),
              "sent");
      require_equal(word.get(), std::uint64_t{i} << 40, "word");
      const auto fill = [i](auto& value) { std::iota(value.words.begin(), value.words.end(), i); };
      const auto check = [i](const auto& value) {
        for (std::uint32_t k = 0; k < value.words.size(); ++k) {
          require_equal(value.words[k], i + k, "element");
        }
      };
      require(calls.call_return(
                  to,
                  [fill] {
                    Medium m;
                    fill(m);
                    return m;
                  },
                  medium),
              "sent");
      check(medium.get());
      require(calls.call_return(
                  to,
                  [fill] {
                    Large m;
                    fill(m);
                    return m;
                  },
                  large),
              "sent");
      check(large.get());
      require(calls.call_return(
                  to, [] { ++ledger().calls; }, nothing),
              "sent");
      nothing.get();
    }
    self.barrier();
    require_equal(ledger().calls.load(), 60u, "calls without a result");
  });
}

TEST_CASE("exception_of_a_call_is_thrown_where_its_result_is_awaited") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    ReturnSlot<int> slot(self.fabric());
    for (int i = 0; i < 3; ++i) {
      const auto fail = []() -> int { throw std::runtime_error("no bread left"); };
      require(calls.call_return(self.neighbour(1), fail, slot), "sent");
      has(error_text([&] { slot.get(); }), "no bread left");
      require(calls.call_return(
                  self.neighbour(1), []() -> int { throw 7; }, slot),
              "sent");
      has(error_text([&] { slot.get(); }), "other than a std::exception");
      require(calls.call_return(
                  self.neighbour(1), [] { return 3; }, slot),
              "sent");
      require_equal(slot.get(), 3, "the slot works on");
    }
    const auto verbose = []() -> int { throw std::runtime_error(std::string(5000, 'x')); };
    require(calls.call_return(self.neighbour(1), verbose, slot), "sent");
    has(error_text([&] { slot.get(); }), std::string(118, 'x'));
    self.barrier();
  });
}

TEST_CASE("slot_is_for_one_call_at_a_time") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    ReturnSlot<int> slot(self.fabric());
    ExecutionSlots executed(self.fabric());
    const auto one = [] { return 1; };
    const auto two = [] { return 2; };
    // To itself: nothing runs before this worker makes progress.
    require(calls.call_return(self.id(), one, slot), "sent");
    has(error_text([&] { (void)calls.call_return(self.id(), two, slot); }), "ReturnSlot");
    require_equal(slot.get(), 1, "the result of the call that was made");
    require(calls.call_return(self.neighbour(1), two, slot), "sent");
    require_equal(slot.get(), 2, "the slot works on");
    require(calls.broadcast([] {}, &executed), "sent");
    has(error_text([&] { (void)calls.broadcast([] {}, &executed); }), "ExecutionSlots");
    require(executed.wait().empty(), "everybody has run the broadcast that was made");
    self.barrier();
  });
}

TEST_CASE("workers_that_wait_for_each_other_serve_each_other") {
  in_every_mode(4, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    ReturnSlot<std::uint32_t> slot(self.fabric());
    for (std::uint32_t i = 0; i < 200; ++i) {
      const ThreadId to = self.fabric().thread_of_rank((self.id().process.value + i) % 4);
      require(calls.call_return(
                  to, [i] { return i; }, slot),
              "sent");
      require_equal(slot.get(), i, "result");
    }
    self.barrier();
  });
}
