// SPDX-License-Identifier: MIT
// Where and when messages are run: by their worker, by a service thread, never inside each other.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>

#include "dsfabric/support/fabric_job.hpp"
#include "dsfabric/support/message_job.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::Counter;
using support::ForkJob;
using support::in_counting_job;
using support::kTestMessage;
using support::Member;
using support::require;
using support::require_equal;
using support::send;
using support::serve_until;

TEST_CASE("messages_pile_up_at_a_worker_that_makes_no_progress") {
  in_counting_job(2, 2, [](Member&, Fabric& fabric, Counter& counter) {
    constexpr std::uint64_t kCount = 3000;
    fabric.run([&](Thread& self) {
      if (self.id() == ThreadId{{0}, 0}) {
        // More than the receive queue holds: worker 0 of process 1 takes them in for worker 1.
        for (std::uint64_t i = 0; i < kCount; ++i) require(send(fabric, {{1}, 1}, i), "it lives");
      }
      if (self.id() == ThreadId{{1}, 1}) {
        // It may have run some while it waited for all workers to begin.
        const std::uint64_t before = counter.received;
        dtutils::sleep_for(std::chrono::milliseconds(100));
        require(counter.received == before, "nobody else runs them");
        serve_until(self, [&] { return counter.received >= kCount; });
        require_equal(counter.wrong.load(), 0u, "messages out of order");
      }
      self.barrier();
    });
  });
}

TEST_CASE("service_messages_run_while_workers_do_something_else") {
  in_counting_job(2, 1, [](Member& member, Fabric& fabric, Counter& counter) {
    fabric.run([&](Thread& self) {
      self.barrier();
      if (member.rank == 0) {
        require(send(fabric, ThreadId::service_of({1}), 1), "it lives");
      } else {
        require(support::eventually([&] { return counter.received == 1; }), "it was served");
      }
      self.barrier();
    });
  });
}

TEST_CASE("handlers_never_run_inside_each_other") {
  struct State {
    std::atomic<int> depth{0};
    std::atomic<int> deepest{0};
    std::atomic<int> ran{0};
    static bool run(void* context, const Incoming& message) {
      auto& state = *static_cast<State*>(context);
      state.deepest = std::max<int>(state.deepest, ++state.depth);
      // Sends to itself, and progress inside a message handler: taken in, not run.
      if (state.ran++ < 500) {
        (void)send(message.fabric, message.worker->id(), 0);
        (void)send(message.fabric, message.worker->id(), 0, 3000);
        message.worker->progress();
      }
      --state.depth;
      return true;
    }
  };
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    State state;
    fabric.set_message_handler(kTestMessage, {State::run, &state});
    fabric.run([&](Thread& self) {
      require(send(fabric, self.id(), 0), "it lives");
      serve_until(self, [&] { return state.ran == 1001; });
    });
    require_equal(state.deepest.load(), 1, "depth of handlers");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("what_a_handler_throws_leaves_through_progress") {
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    bool thrown = false;
    int ran = 0;
    const std::function<bool()> handler = [&]() -> bool {
      if (++ran == 1) throw std::runtime_error("from the handler");
      return true;
    };
    fabric.set_message_handler(kTestMessage,
                               {[](void* context, const Incoming&) {
                                  return (*static_cast<const std::function<bool()>*>(context))();
                                },
                                const_cast<std::function<bool()>*>(&handler)});
    fabric.run([&](Thread& self) {
      require(send(fabric, self.id(), 0) && send(fabric, self.id(), 1), "it lives");
      try {
        serve_until(self, [&] { return ran == 2; });
      } catch (const std::runtime_error&) {
        thrown = true;
      }
      serve_until(self, [&] { return ran == 2; });
    });
    require(thrown, "the exception arrived");
  });
  CHECK(job.wait() == "");
}
