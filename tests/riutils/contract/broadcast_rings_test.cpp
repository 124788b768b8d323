// SPDX-License-Identifier: MIT
// Broadcasts that begin in a ring go on through rings: each step, each kind, in order, or else as
// messages.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "dsfabric/support/broken_broadcast.hpp"
#include "dtutils/wait.hpp"
#include "riutils/rdma_aggregator.hpp"
#include "riutils/rdma_messenger_global.hpp"
#include "riutils/support/helper_job.hpp"
#include "riutils/support/ring_job.hpp"
#include "riutils/termination.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/threads.hpp"

using namespace dsfabric;
using riutils::RDMAAggregator;
using riutils::RDMAMessengerGlobal;
using riutils::RingOptions;
using riutils::RingSet;
using support::ForkJob;
using support::ledger;
using support::Member;
using support::require;
using support::require_equal;
using support::RingJob;
using support::serve_until;

namespace {

const std::array<RingJob, 3> kPlacements{{{2, 2}, {4, 1}, {3, 2}}};
constexpr std::uint32_t kMaxWorkers = 8;

/// What broadcasts leave behind at a worker.
struct Heard {
  std::array<std::vector<std::uint64_t>, kMaxWorkers> from;
  bool running = false;
};
Heard& heard() {
  thread_local Heard mine;
  return mine;
}

/// Says which broadcast of its origin it is; wrong ones go to ledger(0).
struct Numbered {
  std::uint64_t number;
  void operator()(CallContext& call) const {
    Heard& mine = heard();
    ledger(0) += mine.running;
    mine.running = true;
    // A handler that ran others would have them here.
    call.fabric.progress();
    mine.from[call.fabric.rank_of(call.source)].push_back(number);
    mine.running = false;
  }
};

bool heard_in_order(std::uint32_t origin, std::uint64_t count) {
  const std::vector<std::uint64_t>& numbers = heard().from[origin];
  for (std::uint64_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != i) return false;
  }
  return numbers.size() == count;
}

/// Every worker in its turn.
void in_turn(Thread& self, const std::function<void()>& act) {
  for (std::uint32_t turn = 0; turn < self.fabric().total_threads(); ++turn) {
    if (self.fabric().thread_of_rank(turn) == self.id()) act();
    self.barrier();
  }
}

/// One broadcast of each kind, executed by all; wrong bytes go to ledger(0).
template <class Channel>
void broadcast_all_kinds(Thread& self, Channel& calls, SymmetricBuffer& there) {
  constexpr std::uint32_t kBytes = 1000;
  constexpr std::uint32_t kKinds = 4;
  auto source = self.fabric().general_allocator().allocate(kBytes);
  std::memset(source.data(), 9, kBytes);
  const auto check = [](CallContext&, std::byte* data, std::uint32_t bytes) {
    ledger(0) += bytes < kBytes || data[0] != std::byte{9} || data[kBytes - 1] != std::byte{9};
    std::memset(data, 0, bytes);
  };
  ExecutionSlots executed(self.fabric());
  for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
    const auto sent = kind == 0 ? calls.broadcast([] {}, &executed)
                      : kind == 1
                          ? calls.broadcast_buffer(check, {source.data(), kBytes}, &executed)
                      : kind == 2 ? calls.broadcast_buffer(check, source, there, kBytes, executed)
                                  : calls.broadcast_buffer(check, source, executed);
    require(sent, "sent");
    require(executed.wait().empty(), "executed by all");
  }
}

std::uint64_t messages_of_all(Thread& self) {
  const std::uint64_t here = self.id().index == 0 ? self.fabric().calls_sent() : 0;
  return self.all_reduce(here);
}

}  // namespace

TEMPLATE_TEST_CASE("broadcast_goes_through_rings_at_every_step", "", RDMAMessengerGlobal,
                   RDMAAggregator) {
  for (const RingJob& job : kPlacements) {
    CAPTURE(job.processes, job.threads);
    in_every_mode(job, [](Thread& self) {
      TestType calls(self);
      SymmetricBuffer there(self, 4096);
      const auto act = [&] { broadcast_all_kinds(self, calls, there); };
      // Rings are made, by messages.
      in_turn(self, act);
      const std::uint64_t messages = messages_of_all(self);
      const std::uint64_t issued = self.all_reduce(RingSet::of(self).issued());
      const std::uint64_t executed = self.all_reduce(RingSet::of(self).executed());
      in_turn(self, act);
      const std::uint64_t steps =
          4ull * self.fabric().total_threads() * self.fabric().total_threads();
      require_equal(self.all_reduce(RingSet::of(self).issued()) - issued, steps, "calls in rings");
      require_equal(self.all_reduce(RingSet::of(self).executed()) - executed, steps, "calls run");
      require_equal(messages_of_all(self) - messages, 0u, "calls by message");
      // Each ring counts its own.
      std::uint64_t sum = 0;
      for (const auto& ring : RingSet::of(self).counters().outgoing) sum += ring.calls;
      require_equal(sum, RingSet::of(self).issued(), "calls of all rings");
      require_equal(ledger(0).load(), 0u, "wrong bytes");
    });
  }
}

TEMPLATE_TEST_CASE("broadcasts_of_everybody_run_once_and_in_order", "", RDMAMessengerGlobal,
                   RDMAAggregator) {
  constexpr std::uint64_t kBroadcasts = 150;
  const std::uint64_t seed = support::test_seed();
  for (std::uint64_t round = 0; round < kPlacements.size(); ++round) {
    const RingJob& job = kPlacements[round];
    CAPTURE(job.processes, job.threads, seed);
    const auto work = [](Thread& self) {
      // So small that calls are queued all the time.
      TestType calls(self, {.ring = {512, 2, 4, 1u << 20}});
      self.barrier();
      for (std::uint64_t i = 0; i < kBroadcasts; ++i) {
        require(calls.broadcast(Numbered{i}), "sent");
      }
      riutils::wait_for_termination(self);
      for (std::uint32_t origin = 0; origin < self.fabric().total_threads(); ++origin) {
        require(heard_in_order(origin, kBroadcasts), "each once, in order");
      }
      require_equal(ledger(0).load(), 0u, "handlers inside each other");
    };
    CHECK(support::run_job(job, 0, work) == "");
    CHECK(support::run_job(job, (seed + round) | 1, work) == "");
  }
}

TEST_CASE("broadcast_goes_on_by_message_when_no_more_can_be_held") {
  support::in_every_mode({4, 1}, [](Thread& self) {
    constexpr std::uint64_t kBroadcasts = 200;
    RDMAMessengerGlobal calls(self, {.ring = {256, 2, 2, 512}});
    in_turn(self, [&] {
      ExecutionSlots executed(self.fabric());
      require(calls.broadcast([] {}, &executed), "sent");
      require(executed.wait().empty(), "rings are made");
    });
    const std::uint64_t messages = messages_of_all(self);
    if (self.id().process.value == 0) {
      for (std::uint64_t i = 0; i < kBroadcasts; ++i) {
        require(calls.broadcast(Numbered{i}), "sent");
      }
    } else if (self.id().process.value == 3) {
      dtutils::sleep_for(std::chrono::milliseconds(500));  // a leaf that does not keep up
    }
    riutils::wait_for_termination(self);
    require(messages_of_all(self) > messages, "some went by message");
    // These may have overtaken what was queued.
    std::ranges::sort(heard().from[0]);
    require(heard_in_order(0, kBroadcasts), "each once");
  });
}

TEST_CASE("broadcast_that_a_helper_executes_goes_on_by_message") {
  CHECK(support::run_helper_job(4, 1, 1, [](Thread& self, riutils::HelperThreads& helpers) {
          const std::uint16_t rank = self.id().process.value;
          RDMAMessengerGlobal calls(self);
          ExecutionSlots executed(self.fabric());
          const auto broadcast = [&] {
            if (rank != 0) return;
            require(calls.broadcast([] { ++ledger(1); }, &executed), "sent");
            require(executed.wait().empty(), "executed by all");
          };
          broadcast();
          self.barrier();
          const std::uint64_t before = self.fabric().calls_sent();
          // In the middle of the tree: 3 hears of it from 2.
          std::unique_ptr<riutils::Delegation> delegation;
          if (rank == 2) delegation = std::make_unique<riutils::Delegation>(helpers, self);
          self.barrier();
          broadcast();
          self.barrier();
          require_equal(self.fabric().calls_sent() - before, rank == 2 ? 1u : 0u,
                        "calls by message");
          require_equal(ledger(1).load(), 2u, "broadcasts");
        }) == "");
}

TEST_CASE("broadcast_makes_rings_as_the_channel_of_the_worker_would") {
  support::in_every_mode({4, 1}, [](Thread& self) {
    // Neither a message nor a chunk of the default size carries that much.
    const std::vector<std::byte> large(60'000, std::byte{5});
    RDMAMessengerGlobal calls(self, {.ring = {64u << 10, 2, 4, 1u << 20}});
    const RDMAMessengerGlobal small(self, {.ring = support::small_ring()});
    self.barrier();
    ExecutionSlots executed(self.fabric());
    in_turn(self, [&] {
      require(calls.broadcast_buffer(
                  [](CallContext&, const std::byte* data, std::uint32_t bytes) {
                    ledger(0) += bytes == 60'000 && data[59'999] == std::byte{5};
                  },
                  large, &executed),
              "sent");
      require(executed.wait().empty(), "executed by all");
    });
    require_equal(ledger(0).load(), 4u, "whole buffers");
  });
}

TEST_CASE("broadcast_through_rings_tells_where_the_callable_threw") {
  support::in_every_mode({3, 2}, [](Thread& self) {
    RDMAMessengerGlobal calls(self);
    ExecutionSlots executed(self.fabric());
    const ThreadId bad = self.neighbour(2);
    self.barrier();
    require(calls.broadcast(
                [bad](CallContext& call) {
                  if (call.worker->id() == bad) throw std::runtime_error("no bread left");
                },
                &executed),
            "sent");
    require(executed.wait() == std::vector{bad}, "the one that threw");
    self.barrier();
  });
}

TEMPLATE_TEST_CASE("broadcast_through_rings_ends_when_a_process_dies_in_the_middle", "",
                   RDMAMessengerGlobal, RDMAAggregator) {
  CHECK(support::broadcast_past_the_dead(
            [](Thread& self) { return std::make_unique<TestType>(self); }) == "2: signal 9\n");
}

TEST_CASE("survivors_hear_broadcasts_once_while_a_process_dies") {
  const std::uint64_t seed = support::test_seed();
  support::Random random(seed);
  for (int point = 0; point < 4; ++point) {
    CAPTURE(seed, point);
    const auto delay = std::chrono::microseconds(random.below(20'000));
    CHECK(support::run_and_kill(4, 2, [delay](Member& member, Thread& self) {
            RDMAMessengerGlobal calls(self, {.ring = {512, 2, 4, 1u << 20}});
            support::meet(member, self);
            if (member.rank == 0) {
              ExecutionSlots executed(self.fabric());
              const std::vector<ThreadId> dead{ThreadId{{2}, 0}};
              std::uint64_t number = 0;
              const auto broadcast = [&] {
                require(calls.broadcast(Numbered{number++}, &executed), "sent");
                return executed.wait();
              };
              support::Threads executioner;
              executioner.start([&] {
                dtutils::sleep_for(delay);
                support::end_victim(member.memory);
              });
              while (!self.fabric().failed(ProcessId{2})) (void)broadcast();
              for (int i = 0; i < 20; ++i)
                require(broadcast() == dead, "all survivors have run it");
              member.memory.words[0] = number;
            }
            serve_until(self, [&] { return member.memory.words[0] != 0; });
            if (member.rank == 2) return;
            auto& numbers = heard().from[0];
            std::ranges::sort(numbers);
            require(std::ranges::adjacent_find(numbers) == numbers.end(), "none ran twice");
            require_equal(numbers.back() + 1, member.memory.words[0].load(), "broadcasts");
          }) == "2: signal 9\n");
  }
}
