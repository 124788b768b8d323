// SPDX-License-Identifier: MIT
// Workers that run what others call, and make no calls of their own through rings.
#include <atomic>

#include "riutils/support/ring_job.hpp"
#include "support/per_process.hpp"

using dsfabric::CallContext;
using dsfabric::Thread;
using dsfabric::ThreadId;
using riutils::RDMAAggregator;
using riutils::RDMAMessengerGlobal;
using support::in_every_mode;
using support::require;
using support::require_equal;
using support::serve_until;

namespace {

constexpr std::uint32_t kCalls = 500;

/// Calls that ran in this process.
std::atomic<std::uint32_t>& ran() {
  static support::PerProcess<std::atomic<std::uint32_t>> calls;
  return *calls;
}

/// Worker 0 of the job calls, the others only make progress until all calls to them are there.
template <class Channel>
void call_all_others(Thread& self) {
  if (self.fabric().rank_of(self.id()) == 0) {
    Channel channel(self);
    for (std::uint32_t i = 0; i < kCalls; ++i) {
      for (std::uint32_t other = 1; other < self.fabric().total_threads(); ++other) {
        require(channel.call(self.fabric().thread_of_rank(other), [] { ++ran(); }), "it lives");
      }
    }
    serve_until(self, [&] { return channel.flush(); });
  } else {
    serve_until(self, [] { return ran() == kCalls; });
  }
  self.barrier();
  ran() = 0;
  self.barrier();
}

}  // namespace

TEST_CASE("worker_without_a_channel_runs_calls") {
  in_every_mode({.processes = 3}, call_all_others<RDMAMessengerGlobal>);
  in_every_mode({.processes = 3}, call_all_others<RDMAAggregator>);
}

TEST_CASE("worker_without_a_channel_runs_calls_in_a_later_run_too") {
  in_every_mode({.runs = 3}, call_all_others<RDMAMessengerGlobal>);
}

TEST_CASE("worker_without_a_channel_answers") {
  in_every_mode({}, [](Thread& self) {
    static support::PerProcess<std::atomic<bool>> over;
    const ThreadId other = self.neighbour(1);
    if (self.fabric().rank_of(self.id()) == 0) {
      RDMAMessengerGlobal messenger(self);
      dsfabric::ReturnSlot<std::uint32_t> answer(self.fabric());
      for (std::uint32_t i = 0; i < kCalls; ++i) {
        require(messenger.call_return(
                    other, [i] { return 3 * i; }, answer),
                "it lives");
        require_equal(answer.get(), 3 * i, "answer");
      }
      require(messenger.call(other, [] { *over = true; }), "it lives");
    } else {
      serve_until(self, [] { return over->load(); });
    }
    self.barrier();
  });
}

TEST_CASE("calls_for_fibers_wait_until_there_is_a_pool") {
  in_every_mode({}, [](Thread& self) {
    const ThreadId other = self.neighbour(1);
    if (self.fabric().rank_of(self.id()) == 0) {
      RDMAMessengerGlobal messenger(self);
      require(messenger.call(other, [] { ++ran(); }), "it lives");
      dsfabric::ReturnSlot<std::uint32_t> answer(self.fabric());
      for (std::uint32_t i = 0; i < 10; ++i) {
        require(messenger.call_return(other, riutils::in_fiber([i] { return ran() + i; }), answer),
                "it lives");
        require_equal(answer.get(), 1 + i, "answer");
      }
      require(messenger.call(other, [] { ++ran(); }), "it lives");
    } else {
      serve_until(self, [] { return ran() == 1; });
      for (int i = 0; i < 1000; ++i) self.progress();
      riutils::FiberPool fibers(self);
      serve_until(self, [] { return ran() == 2; });
    }
    self.barrier();
  });
}

TEST_CASE("handlers_may_make_channels_of_their_own") {
  in_every_mode({}, [](Thread& self) {
    static support::PerProcess<std::atomic<std::uint32_t>> back;
    const ThreadId other = self.neighbour(1);
    RDMAMessengerGlobal messenger(self);
    for (std::uint32_t i = 0; i < kCalls; ++i) {
      require(messenger.call(other,
                             [](CallContext& call) {
                               RDMAMessengerGlobal mine(*call.worker);
                               (void)mine.call(call.source, [] { ++*back; });
                             }),
              "it lives");
    }
    serve_until(self, [] { return *back == kCalls; });
    self.barrier();
  });
}
