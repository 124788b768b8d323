// SPDX-License-Identifier: MIT
// Calls that helper threads execute instead of the worker that they are for.
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "dsfabric/support/environment_variable.hpp"
#include "riutils/helper_threads.hpp"
#include "riutils/in_fiber.hpp"
#include "riutils/rdma_aggregator.hpp"
#include "riutils/rdma_messenger_global.hpp"
#include "riutils/support/helper_job.hpp"
#include "riutils/termination.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using riutils::Delegation;
using riutils::HelperThreads;
using riutils::in_fiber;
using riutils::RDMAAggregator;
using riutils::RDMAMessengerGlobal;
using support::ForkJob;
using support::ledger;
using support::Member;
using support::require;
using support::require_equal;
using support::run_helper_job;
using support::serve_until;

namespace {

/// Looks, and serves nothing.
void watch_until(const std::function<bool()>& done) {
  require(support::eventually(done, std::chrono::seconds(20)), "what was awaited did not come");
}

}  // namespace

TEST_CASE("helper_executes_calls_while_the_worker_computes") {
  CHECK(run_helper_job(2, 2, 2, [](Thread& self, HelperThreads& helpers) {
          const Delegation delegation(helpers, self);
          RDMAMessengerGlobal calls(self);
          const ThreadId to = self.neighbour(2);
          calls.setup(to);
          self.barrier();
          for (int i = 0; i < 500; ++i) {
            require(calls.call(to,
                               [to, from = self.id()](CallContext& call) {
                                 const bool right = call.source == from &&
                                                    call.worker->id() == to &&
                                                    call.fabric.current_thread() == nullptr;
                                 ledger(0) += right;
                                 ++ledger(1);
                               }),
                    "sent");
          }
          watch_until([] { return ledger(1) == 2 * 500; });
          require_equal(ledger(0).load(), 1000u, "calls that ran as they should");
        }) == "");
}

TEST_CASE("calls_keep_their_order_while_they_change_hands") {
  CHECK(run_helper_job(2, 1, 1, [](Thread& self, HelperThreads& helpers) {
          RDMAAggregator calls(self);
          std::uint64_t sent = 0;
          for (int round = 0; round < 60; ++round) {
            const auto call_some = [&] {
              for (int i = 0; i < 50; ++i, ++sent) {
                require(calls.call(self.neighbour(1), [sent] { ledger(0) += ledger(1)++ != sent; }),
                        "sent");
              }
            };
            {
              const Delegation delegation(helpers, self);
              call_some();
            }
            call_some();
            self.progress();
          }
          riutils::wait_for_termination(self);
          require_equal(ledger(1).load(), sent, "calls");
          require_equal(ledger(0).load(), 0u, "calls out of order");
        }) == "");
}

TEST_CASE("a_full_ring_goes_on_while_its_receiver_changes_hands") {
  // Worker 0 and the helper then have queue pairs of their own.
  const support::EnvironmentVariable pairs("CARIAMA_QUEUE_PAIRS", "2");
  CHECK(run_helper_job(2, 2, 1, [](Thread& self, HelperThreads& helpers) {
          if (self.id().index != 0) return;
          RDMAMessengerGlobal calls(self,
                                    {.ring = {.chunk_bytes = 256, .chunks = 2, .chunk_limit = 2}});
          std::uint64_t sent = 0;
          for (int round = 0; round < 200; ++round) {
            const auto call_some = [&] {
              for (int i = 0; i < 40; ++i, ++sent) {
                require(calls.call(self.neighbour(2), [sent] { ledger(0) += ledger(1)++ != sent; }),
                        "sent");
              }
            };
            {
              const Delegation delegation(helpers, self);
              call_some();
            }
            call_some();
          }
          serve_until(self, [&] { return ledger(1) == sent; });
          require_equal(ledger(0).load(), 0u, "calls out of order");
        }) == "");
}

TEST_CASE("delegated_handler_may_wait_in_a_fiber") {
  CHECK(run_helper_job(2, 1, 1, [](Thread& self, HelperThreads& helpers) {
          const Delegation delegation(helpers, self);
          RDMAMessengerGlobal calls(self);
          ReturnSlot<int> slot(self.fabric());
          self.barrier();
          for (int i = 0; i < 50; ++i) {
            require(calls.call_return(self.neighbour(1), in_fiber([i](CallContext& call) {
                                        // Messages are still served by the worker.
                                        SendChannel back(call.fabric);
                                        ReturnSlot<int> answer(call.fabric);
                                        require(back.call_return(
                                                    call.source, [i] { return i; }, answer),
                                                "sent");
                                        return answer.get() + 1;
                                      }),
                                      slot),
                    "sent");
            require_equal(slot.get(), i + 1, "result");
          }
          riutils::wait_for_termination(self);
        }) == "");
}

TEST_CASE("exception_of_a_delegated_handler_reaches_the_upcall") {
  CHECK(run_helper_job(2, 1, 1, [](Thread& self, HelperThreads& helpers) {
          self.fabric().on_exception([](const CallContext& call, std::exception_ptr) {
            ledger(0) += call.worker != nullptr;
          });
          const Delegation delegation(helpers, self);
          RDMAMessengerGlobal calls(self);
          self.barrier();
          for (int i = 0; i < 10; ++i) {
            require(
                calls.call(self.neighbour(1), [] { throw std::runtime_error("no bread left"); }),
                "sent");
            require(calls.call(self.neighbour(1), [] { ++ledger(1); }), "sent");
          }
          serve_until(self, [] { return ledger(1) == 10; });
          require_equal(ledger(0).load(), 10u, "upcalls");
        }) == "");
}

TEST_CASE("exception_of_a_delegated_handler_leaves_progress_without_an_upcall") {
  CHECK(run_helper_job(2, 1, 1, [](Thread& self, HelperThreads& helpers) {
          const Delegation delegation(helpers, self);
          RDMAMessengerGlobal calls(self);
          self.barrier();
          if (self.id().process.value == 0) {
            require(
                calls.call(self.neighbour(1), [] { throw std::runtime_error("no bread left"); }),
                "sent");
            ReturnSlot<int> slot(self.fabric());
            require(calls.call_return(
                        self.neighbour(1), [] { return 3; }, slot),
                    "sent");
            require_equal(slot.get(), 3, "the helper serves on");
            return;
          }
          std::string text;
          try {
            serve_until(self, [] { return false; });
          } catch (const std::runtime_error& error) {
            text = error.what();
          }
          require_equal(text == "no bread left", true, "the worker gets it: " + text);
        }) == "");
}

TEST_CASE("termination_counts_calls_of_helpers") {
  CHECK(run_helper_job(2, 2, 1, [](Thread& self, HelperThreads& helpers) {
          const Delegation delegation(helpers, self);
          RDMAAggregator calls(self);
          for (int i = 0; i < 100; ++i) {
            require(calls.call(self.neighbour(i), in_fiber([](CallContext& call) {
                                 const int steps = int(ledger(0)++ % 5);
                                 for (int k = 0; k < steps; ++k) riutils::FiberPool::wait_step();
                                 SendChannel more(call.fabric);
                                 require(more.call(call.source, [] { ++ledger(1); }), "sent");
                               })),
                    "sent");
          }
          riutils::wait_for_termination(self);
          require_equal(self.all_reduce(ledger(1).load()), 2 * 400u, "calls that calls made");
          self.barrier();
        }) == "");
}

TEST_CASE("helpers_of_nobody_are_refused") {
  ForkJob job(1, [&](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    riutils::HelperOptions none;
    none.threads = 0;
    require(support::error_text([&] { HelperThreads(fabric, none); }).find("at least one thread") !=
                std::string::npos,
            "it says what to do");
    riutils::HelperOptions wrong;
    wrong.fibers.stack_size = 1;
    require(support::error_text([&] { HelperThreads(fabric, wrong); }).find("16 KiB") !=
                std::string::npos,
            "what goes wrong in the thread is thrown here");
  });
  CHECK(job.wait() == "");
}
