// SPDX-License-Identifier: MIT
// Many calls with results in flight: what they answer arrives, batched or not, or its failure
// does.
#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <stdexcept>
#include <thread>

#include "riutils/support/helper_job.hpp"

using namespace dsfabric;
using riutils::in_fiber;
using riutils::RDMAAggregator;
using riutils::RDMAMessengerGlobal;
using riutils::RingSet;
using support::flush_if_gathered;
using support::kDefaultFibers;
using support::my_channel;
using support::require;
using support::require_equal;
using support::run_handler_job;

namespace {

template <std::size_t kBytes>
struct ManyBytes {
  std::array<unsigned char, kBytes> bytes;
  friend bool operator==(const ManyBytes&, const ManyBytes&) = default;
};
template <std::size_t kBytes>
ManyBytes<kBytes> many_bytes(std::uint64_t seed) {
  ManyBytes<kBytes> value;
  for (std::size_t i = 0; i < kBytes; ++i) {
    value.bytes[i] = static_cast<unsigned char>(seed * 7 + i);
  }
  return value;
}

/// Asks `to` for `count` values at a time, and looks at all of them.
template <std::size_t kBytes, class Channel>
void ask_for_many(Thread& self, Channel& channel, ThreadId to, std::uint64_t count) {
  std::deque<ReturnSlot<ManyBytes<kBytes>>> slots;
  for (std::uint64_t i = 0; i < count; ++i) {
    require(channel.call_return(
                to, [i] { return many_bytes<kBytes>(i); }, slots.emplace_back(self.fabric())),
            "asked");
  }
  flush_if_gathered(channel);
  for (std::uint64_t i = 0; i < count; ++i) {
    require(slots[i].get() == many_bytes<kBytes>(i), "the value that was answered");
  }
}

/// Results that this worker has sent through rings.
std::uint64_t results_sent(Thread& self) {
  std::uint64_t sent = 0;
  for (const auto& ring : RingSet::of(self).counters().outgoing) {
    if (ring.results) sent += ring.calls;
  }
  return sent;
}

}  // namespace

TEMPLATE_TEST_CASE("results_of_any_size_arrive_while_many_are_in_flight", "", SendChannel,
                   RDMAMessengerGlobal, RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 1, nullptr, [](Thread& self) {
          TestType& channel = *my_channel<TestType>();
          for (int round = 0; round < 8; ++round) {
            for (const std::int64_t distance : {1, 0}) {
              const ThreadId to = self.neighbour(distance);
              ask_for_many<1>(self, channel, to, 50);
              ask_for_many<8>(self, channel, to, 100);
              ask_for_many<13>(self, channel, to, 50);
              ask_for_many<256>(self, channel, to, 80);
              ask_for_many<300>(self, channel, to, 20);
            }
            std::deque<ReturnSlot<void>> slots;
            for (int i = 0; i < 50; ++i) {
              require(channel.call_return(
                          self.neighbour(1), [] { ++support::ledger(0); },
                          slots.emplace_back(self.fabric())),
                      "asked");
            }
            flush_if_gathered(channel);
            for (auto& slot : slots) slot.get();
          }
          self.barrier();
          require_equal(support::ledger(0).load(), 8u * 50, "executed");
        }) == "");
}

TEST_CASE("results_go_home_through_a_ring_once_several_are_asked_for_at_a_time") {
  CHECK(run_handler_job<RDMAAggregator>(2, 1, nullptr, [](Thread& self) {
          RDMAAggregator& channel = *my_channel<RDMAAggregator>();
          const ThreadId to = self.neighbour(1);
          // The ring takes a moment to be there.
          dtutils::Deadline deadline(std::chrono::seconds(20));
          do {
            require(!deadline.passed(), "results go through rings");
            ask_for_many<8>(self, channel, to, 64);
          } while (self.all_reduce(results_sent(self)) < 1000);
          riutils::wait_for_termination(self);
        }) == "");
}

TEMPLATE_TEST_CASE("exceptions_arrive_among_results", "", RDMAMessengerGlobal, RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 1, &kDefaultFibers, [](Thread& self) {
          TestType& channel = *my_channel<TestType>();
          for (int round = 0; round < 20; ++round) {
            std::deque<ReturnSlot<int>> slots;
            for (int i = 0; i < 60; ++i) {
              const auto odd_only = [i] {
                if (i % 3 == 0) throw std::runtime_error("divisible");
                return i;
              };
              ReturnSlot<int>& slot = slots.emplace_back(self.fabric());
              require(i % 2 == 0 ? channel.call_return(self.neighbour(1), odd_only, slot)
                                 : channel.call_return(self.neighbour(1), in_fiber(odd_only), slot),
                      "asked");
            }
            flush_if_gathered(channel);
            for (int i = 0; i < 60; ++i) {
              std::string thrown;
              try {
                require_equal(slots[static_cast<std::size_t>(i)].get(), i, "result");
              } catch (const dtutils::Error& error) {
                thrown = error.what();
              }
              require((thrown.find("divisible") != std::string::npos) == (i % 3 == 0), thrown);
            }
          }
        }) == "");
}

TEST_CASE("results_of_fibers_that_wait_arrive_among_others") {
  CHECK(run_handler_job<RDMAAggregator>(2, 1, &kDefaultFibers, [](Thread& self) {
          RDMAAggregator& channel = *my_channel<RDMAAggregator>();
          for (int round = 0; round < 10; ++round) {
            std::deque<ReturnSlot<int>> slots;
            for (int i = 0; i < 60; ++i) {
              require(channel.call_return(self.neighbour(1), in_fiber([i] {
                                            if (i % 2 != 0) riutils::FiberPool::wait_step();
                                            return i * i;
                                          }),
                                          slots.emplace_back(self.fabric())),
                      "asked");
            }
            (void)channel.flush();
            for (int i = 0; i < 60; ++i) {
              require_equal(slots[static_cast<std::size_t>(i)].get(), i * i, "result");
            }
          }
        }) == "");
}

TEST_CASE("helper_threads_answer_and_take_results") {
  CHECK(support::run_helper_job(2, 1, 1, [](Thread& self, riutils::HelperThreads& helpers) {
          RDMAAggregator channel(self);
          const ThreadId to = self.neighbour(1);
          for (int i = 0; i < 5; ++i) ask_for_many<8>(self, channel, to, 64);
          self.barrier();
          // Now one side has its helper answer, and take the results of what it asks itself.
          if (self.id().process.value == 0) {
            const riutils::Delegation delegation(helpers, self);
            for (int i = 0; i < 20; ++i) ask_for_many<8>(self, channel, to, 64);
            self.barrier();
          } else {
            for (int i = 0; i < 20; ++i) ask_for_many<8>(self, channel, to, 64);
            self.barrier();
          }
        }) == "");
}

TEST_CASE("a_dead_peer_ends_every_call_that_waits_for_its_result") {
  support::ForkJob job(2, [&](support::Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    try {
      fabric.run([&](Thread& self) {
        RDMAAggregator channel(self);
        self.barrier();
        std::deque<ReturnSlot<std::uint64_t>> slots;
        for (int i = 0; i < 64; ++i) slots.emplace_back(self.fabric());
        const ThreadId to = self.neighbour(1);
        std::uint64_t results = 0;
        std::uint64_t failures = 0;
        dtutils::Deadline deadline(std::chrono::seconds(30));
        while (failures == 0) {
          require(!deadline.passed(), "the death is noticed");
          std::uint64_t asked = 0;
          for (std::uint64_t i = 0; i < slots.size(); ++i) {
            const CallStatus status = channel.call_return(
                to, [i] { return i; }, slots[i]);
            failures += status == CallStatus::kPeerGone;
            asked += status == CallStatus::kAccepted;
          }
          (void)channel.flush();
          for (std::uint64_t i = 0; i < asked; ++i) {
            try {
              require_equal(slots[i].get(), i, "result");
              ++results;
            } catch (const dtutils::Error&) {
              ++failures;
            }
          }
          if (results >= 10'000) member.memory.words[0] |= std::uint64_t{1} << member.rank;
        }
        member.memory.processes[member.rank].result = results;
      });
    } catch (const PeerFailed&) {
      // The end of run() is a collective.
    }
  });
  CHECK(support::eventually([&] { return job.memory().words[0] == 3; }));
  job.kill(1);
  CHECK(job.wait(std::chrono::seconds(40)) == "1: signal 9\n");
  CHECK(job.memory().processes[0].result >= 10'000);
}
