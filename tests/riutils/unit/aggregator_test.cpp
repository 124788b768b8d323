// SPDX-License-Identifier: MIT
// Aggregated calls: runs of equal calls, order, both modes, age, exceptions within a run.
#include <array>
#include <cstring>

#include "dsfabric/support/ledger.hpp"
#include "riutils/support/ring_job.hpp"

using namespace dsfabric;
using namespace riutils;
using support::in_every_mode;
using support::ledger;
using support::require;
using support::require_equal;
using support::serve_until;
using support::small_ring;

namespace {

void took(std::uint64_t number) {
  ledger().wrong += number != ledger().calls;
  ++ledger().calls;
}

/// Types of other sizes, one of them of no size at all, and two that differ in nothing but type.
struct Small {
  std::uint32_t number;
  void operator()() const { took(number); }
};
struct Twin {
  std::uint32_t number;
  void operator()() const { took(number); }
};
struct Large {
  std::uint64_t number;
  std::array<std::uint64_t, 9> rest;
  void operator()() const {
    for (const std::uint64_t each : rest) ledger().wrong += each != ~number;
    took(number);
  }
};
struct Empty {
  void operator()() const { took(ledger().calls); }
};

CallStatus call_number(RDMAAggregator& aggregator, ThreadId to, std::uint64_t i, std::size_t kind) {
  const auto number = static_cast<std::uint32_t>(i);
  switch (kind) {
    case 0:
      return aggregator.call(to, Small{number});
    case 1:
      return aggregator.call(to, Twin{number});
    case 2:
      return aggregator.call(to, Empty{});
    case 3: {
      Large large{i, {}};
      large.rest.fill(~i);
      return aggregator.call(to, large);
    }
    default: {
      const std::uint64_t bytes[3] = {i, i, i};
      return aggregator.call_buffer(
          to,
          [](CallContext&, const std::byte* data, std::uint32_t size) {
            std::uint64_t seen[3];
            ledger().wrong += size != sizeof seen;
            std::memcpy(seen, data, sizeof seen);
            took(seen[2]);
          },
          std::as_bytes(std::span(bytes)));
    }
  }
}

/// Runs of random kinds and lengths to the neighbour.
void call_in_runs(Thread& self, const AggregatorOptions& options, std::uint64_t count,
                  std::uint64_t seed) {
  support::Random random(seed);
  RDMAAggregator aggregator(self, options);
  std::uint64_t i = 0;
  while (i < count) {
    const std::size_t kind = random.below(5);
    for (std::size_t run = random.size_up_to(200); run != 0 && i < count; --run, ++i) {
      while (call_number(aggregator, self.neighbour(1), i, kind) != CallStatus::kAccepted) {
        require(options.when_full != WhenFull::kRetry,
                "a call that retries is made: " +
                    self.fabric().failure_reason(self.neighbour(1).process));
        self.progress();
      }
    }
    if (random.one_in(4)) self.progress();
    if (random.one_in(8)) (void)aggregator.flush();
  }
  serve_until(self, [&] { return aggregator.flush() && ledger().calls == count; });
  require_equal(ledger().wrong.load(), 0u, "calls out of order");
  const Counters counters = aggregator.ring_set().counters();
  require_equal(counters.outgoing[0].calls, count, "calls counted by the sender");
  require_equal(counters.incoming[0].calls, count, "calls counted by the receiver");
  require(counters.incoming[0].records < count, "equal calls share a record");
  require_equal(aggregator.ring_set().issued(), count, "issued");
  std::uint64_t stalls = 0;
  for (const auto& ring : counters.outgoing) stalls += ring.stalls;
  require_equal(aggregator.ring_set().stalls(), stalls, "stalls");
  require_equal(aggregator.ring_set().executed(), count, "executed");
  self.barrier();
}

}  // namespace

TEST_CASE("runs_of_equal_calls_keep_order_and_count_in_both_modes") {
  const std::uint64_t seed = support::test_seed();
  for (const auto mode :
       {AggregatorOptions::Mode::kTraditional, AggregatorOptions::Mode::kOverflow}) {
    for (const WhenFull when : {WhenFull::kRetry, WhenFull::kFail, WhenFull::kRetryAsync}) {
      CAPTURE(seed, static_cast<int>(mode), static_cast<int>(when));
      in_every_mode({}, [&](Thread& self) {
        call_in_runs(self, {mode, small_ring(), when, 300}, 2000, seed);
      });
    }
  }
}

TEST_CASE("default_sizes_carry_many_calls") {
  // The second one once filled a chunk by the word that a post takes, and ran over its end.
  const std::uint64_t seed = GENERATE(support::test_seed(), std::uint64_t{1262030483});
  CAPTURE(seed);
  in_every_mode({}, [&](Thread& self) { call_in_runs(self, {}, 60'000, seed); });
}

TEST_CASE("gathered_calls_are_sent_by_age") {
  in_every_mode({}, [](Thread& self) {
    RDMAAggregator aggregator(self);
    require(aggregator.call(self.neighbour(1), Small{0}), "gathered");
    // Without flush().
    serve_until(self, [] { return ledger().calls == 1; });
    self.barrier();
  });
}

TEST_CASE("result_of_an_aggregated_call_arrives_without_a_flush") {
  in_every_mode({}, [](Thread& self) {
    RDMAAggregator aggregator(self);
    ReturnSlot<std::uint64_t> slot(self.fabric());
    require(aggregator.call_return(
                self.neighbour(1), [] { return std::uint64_t{42}; }, slot),
            "gathered");
    require_equal(slot.get(), 42u, "result");
    self.barrier();
  });
}

TEST_CASE("sent_is_told_for_gathered_and_for_held_calls") {
  in_every_mode({}, [](Thread& self) {
    RDMAAggregator aggregator(
        self, {.mode = AggregatorOptions::Mode::kOverflow, .ring = {1024, 2, 2, 1u << 20}});
    constexpr std::uint32_t kCalls = 1000;
    dtutils::Synchronizer sent(kCalls);
    for (std::uint32_t i = 0; i < kCalls; ++i) {
      require(aggregator.call(self.neighbour(1), Small{i}, &sent), "made");
    }
    require(sent.wait_for(std::chrono::seconds(20)) == dtutils::Synchronizer::Outcome::kDone,
            "all are told");
    serve_until(self, [] { return ledger().calls == kCalls; });
    require_equal(ledger().wrong.load(), 0u, "calls out of order");
    self.barrier();
  });
}

TEST_CASE("exception_in_a_run_neither_loses_nor_repeats_calls") {
  for (const bool upcall : {false, true}) {
    CAPTURE(upcall);
    in_every_mode({}, [upcall](Thread& self) {
      if (upcall) {
        self.fabric().on_exception(
            [](const CallContext&, std::exception_ptr) { ++ledger().thrown; });
      }
      RDMAAggregator aggregator(self);
      constexpr std::uint64_t kCalls = 2000;
      for (std::uint64_t i = 0; i < kCalls;) {
        // A call that waits serves the other side's, and what they throw may leave it: not made.
        try {
          const auto made = aggregator.call(self.neighbour(1), [i] {
            took(i);
            if (i % 7 == 3) throw std::runtime_error("no bread left");
          });
          require(made, "made");
          ++i;
        } catch (const std::runtime_error& error) {
          require(!upcall && std::string(error.what()) == "no bread left", error.what());
          ++ledger().thrown;
        }
      }
      (void)aggregator.flush();
      dtutils::Deadline deadline(std::chrono::seconds(20));
      while (ledger().calls != kCalls) {
        require(!deadline.passed(), "calls did not come");
        try {
          self.progress();
        } catch (const std::runtime_error&) {
          require(!upcall, "the upcall takes them");
          ++ledger().thrown;
        }
      }
      require_equal(ledger().wrong.load(), 0u, "calls out of order");
      require_equal(ledger().thrown.load(), (kCalls + 3) / 7, "exceptions");
      require_equal(aggregator.ring_set().executed(), kCalls, "executed");
      self.barrier();
    });
  }
}

TEST_CASE("counters_print_as_table_and_json") {
  Counters counters;
  counters.outgoing.push_back({.to = {ProcessId{1}, 2}, .calls = 17});
  counters.incoming.push_back({.from = {ProcessId{3}, 4}, .calls = 5});
  CHECK(counters.table().find("1.2            17") != std::string::npos);
  CHECK(counters.json().find("\"to\":\"1.2\",\"calls\":17,") != std::string::npos);
  CHECK(counters.json().find("\"from\":\"3.4\",\"calls\":5,") != std::string::npos);
}
