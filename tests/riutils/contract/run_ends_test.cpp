// SPDX-License-Identifier: MIT
// The end of run(): calls that were accepted are executed, or their number is told.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

#include "dsfabric/support/fork_job.hpp"
#include "dtutils/wait.hpp"
#include "riutils/riutils.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/per_process.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using riutils::RDMAAggregator;
using riutils::RDMAMessengerGlobal;
using support::contains;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

namespace {

std::atomic<std::uint64_t>& executed_calls() {
  static support::PerProcess<std::atomic<std::uint64_t>> calls;
  return *calls;
}

struct Count {
  void operator()() const { ++executed_calls(); }
};
/// Each makes the next one.
struct Chain {
  int left;
  void operator()(CallContext& call) const {
    ++executed_calls();
    if (left == 0) return;
    SendChannel calls(call.fabric);
    require(calls.call(call.source, Chain{left - 1}), "the next one is sent");
  }
};

constexpr std::uint64_t kManyCalls = 400;

/// However many cores there are for each process.
Config one_worker_each() {
  Config config;
  config.threads = 1;
  return config;
}

}  // namespace

TEST_CASE("calls_that_were_accepted_run_before_run_returns") {
  ForkJob job(2, [](Member& member) {
    Fabric fabric = member.join(one_worker_each());
    for (std::uint64_t round = 1; round <= 3; ++round) {
      fabric.run([&](Thread& self) {
        if (self.id().process.value == 0) {
          // It is still away when the other one has ended.
          dtutils::sleep_for(std::chrono::milliseconds(20));
          return;
        }
        const ThreadId to = self.neighbour(1);
        RDMAMessengerGlobal messenger(self);
        RDMAAggregator aggregator(self, {.flush_bytes = 1 << 14, .max_age = std::chrono::hours(1)});
        SendChannel sends(fabric);
        for (std::uint64_t i = 0; i < kManyCalls; ++i) {
          require(messenger.call(to, Count()), "accepted");
          require(aggregator.call(to, Count()), "accepted");
          require(sends.call(to, Count()), "accepted");
        }
        require(sends.call(to, Chain{5}), "accepted");
      });
      // The chain goes to and fro, three calls on each side.
      const std::uint64_t here = fabric.process().value == 0 ? 3 * kManyCalls + 3 : 3;
      require_equal(executed_calls().load(), here * round, "calls that ran here");
    }
  });
  CHECK(job.wait() == "");
}

TEST_CASE("calls_by_messages_alone_run_before_run_returns") {
  ForkJob job(3, [](Member& member) {
    Fabric fabric = member.join(one_worker_each());
    fabric.run([&](Thread& self) {
      SendChannel sends(fabric);
      for (int i = 0; i < 100; ++i) require(sends.call(self.neighbour(1), Count()), "accepted");
    });
    require_equal(executed_calls().load(), 100u, "calls that ran here");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("worker_that_throws_ends_run_everywhere_without_its_calls") {
  ForkJob job(2, [](Member& member) {
    Fabric fabric = member.join(one_worker_each());
    std::string said;
    try {
      fabric.run([&](Thread& self) {
        RDMAMessengerGlobal messenger(self);
        for (int i = 0; i < 10; ++i) (void)messenger.call(self.neighbour(1), Count());
        if (member.rank == 0) throw std::runtime_error("no bread left");
      });
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    require(said == (member.rank == 0 ? "no bread left" : ""), said);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("process_that_dies_with_calls_before_it_does_not_hold_up_the_end_of_run") {
  ForkJob job(3, [](Member& member) {
    Fabric fabric = member.join(one_worker_each());
    fabric.run([&](Thread& self) {
      RDMAMessengerGlobal messenger(self);
      self.barrier();
      for (int i = 0; i < 10; ++i) (void)messenger.call({{2}, 0}, Count());
      ++member.memory.words[0];
      while (member.rank == 2) dtutils::sleep_for(std::chrono::milliseconds(1));
    });
    require(fabric.failed(ProcessId{2}), "it ended because the other one died");
  });
  CHECK(support::eventually([&] { return job.memory().words[0] == 3; }));
  job.kill(2);
  CHECK(job.wait() == "2: signal 9\n");
}

TEST_CASE("calls_that_never_end_are_counted_in_an_error") {
  ForkJob job(2, [](Member& member) {
    Config config = one_worker_each();
    config.leave_timeout = std::chrono::milliseconds(300);
    Fabric fabric = member.join(config);
    static support::PerProcess<dtutils::Synchronizer, 1u> never;
    fabric.run([&](Thread& self) {
      // Outlives the work: nobody waits for its fibers before the end of run().
      static thread_local riutils::FiberPool* const pool =
          new riutils::FiberPool(self, {.drain_timeout = std::chrono::milliseconds(0)});
      require(pool != nullptr, "it has a pool");
      RDMAMessengerGlobal messenger(self);
      for (int i = 0; i < 3; ++i) {
        require(messenger.call(self.neighbour(1), riutils::in_fiber([] { never->wait(); })),
                "accepted");
      }
    });
  });
  const std::string said = job.wait();
  CHECK_THAT(said, contains("0: run(): 6 calls of the job were not executed") &&
                       contains("1: run(): 6 calls of the job were not executed"));
}

TEST_CASE("calls_to_a_worker_of_the_same_process_that_threw_are_refused") {
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 2;
    Fabric fabric = member.join(config);
    std::string said;
    try {
      fabric.run([&](Thread& self) {
        self.barrier();
        if (self.id().index == 1) throw std::runtime_error("no bread left");
        const ThreadId to = self.neighbour(1);
        RDMAMessengerGlobal messenger(self);
        RDMAAggregator aggregator(self);
        // More than a ring holds, which nobody empties.
        const auto refused = [&](auto& calls) {
          CallStatus status = CallStatus::kAccepted;
          for (int i = 0; status != CallStatus::kPeerGone && i < 3'000'000; ++i) {
            status = calls.call(to, Count());
          }
          return status == CallStatus::kPeerGone;
        };
        require(refused(messenger), "by a messenger");
        require(refused(aggregator), "by an aggregator");
      });
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    require(said == "no bread left", "run() threw: " + said);
  });
  CHECK(job.wait() == "");
}
