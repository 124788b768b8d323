// SPDX-License-Identifier: MIT
// Workers whose calls run in fibers unless the call says otherwise.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "dtutils/wait.hpp"
#include "riutils/in_fiber.hpp"
#include "riutils/rdma_aggregator.hpp"
#include "riutils/rdma_messenger_global.hpp"
#include "riutils/support/helper_job.hpp"
#include "riutils/support/ring_job.hpp"
#include "riutils/termination.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using riutils::FiberPool;
using riutils::RDMAAggregator;
using riutils::RDMAMessengerGlobal;
using riutils::RingSet;
using riutils::run_inline;
using support::ask;
using support::go;
using support::kDefaultFibers;
using support::ledger;
using support::require;
using support::require_equal;
using support::run_handler_job;
using support::serve_until;

namespace {

/// A job of workers whose calls run in fibers.
template <class Channel>
std::string in_fibers(std::uint32_t processes, std::uint32_t threads,
                      const riutils::FiberOptions& options,
                      const std::function<void(Thread&)>& work) {
  return run_handler_job<Channel>(processes, threads, &options, [&](Thread& self) {
    RingSet::of(self).run_in_fibers(true);
    self.barrier();
    work(self);
  });
}

}  // namespace

TEMPLATE_TEST_CASE("calls_run_in_fibers_when_the_worker_says_so", "", RDMAMessengerGlobal,
                   RDMAAggregator) {
  CHECK(in_fibers<TestType>(2, 2, kDefaultFibers, [](Thread& self) {
          for (int i = 0; i < 100; ++i) {
            // Waits for a third thread, which waits for a fourth.
            const ThreadId third = self.neighbour(2);
            const ThreadId fourth = self.neighbour(3);
            const auto sum =
                ask<TestType>(self.fabric(), self.neighbour(1), [=](CallContext& call) -> int {
                  require(FiberPool::inside(), "it is a fiber");
                  return i + ask<TestType>(call.fabric, third, [=](CallContext& inner) -> int {
                           return i + ask<TestType>(inner.fabric, fourth, [] { return 1; });
                         });
                });
            require_equal(sum, 2 * i + 1, "sum");
          }
        }) == "");
}

TEMPLATE_TEST_CASE("calls_run_inline_again_when_the_worker_says_so", "", RDMAMessengerGlobal,
                   RDMAAggregator) {
  CHECK(in_fibers<TestType>(2, 1, kDefaultFibers, [](Thread& self) {
          const auto inside = [&](auto function) {
            const bool is = ask<TestType>(self.fabric(), self.neighbour(1), function);
            self.barrier();
            return is;
          };
          const auto look = [] { return FiberPool::inside(); };
          require(inside(look), "in a fiber");
          require(!inside(run_inline(look)), "in place, as the call wants");
          require(inside(riutils::in_fiber(look)), "in a fiber, as both want");
          RingSet::of(self).run_in_fibers(false);
          self.barrier();
          require(!inside(look), "inline");
          require(inside(riutils::in_fiber(look)), "in a fiber, as the call wants");
        }) == "");
}

TEST_CASE("runs_of_calls_in_fibers_keep_their_order_and_come_once") {
  CHECK(in_fibers<RDMAAggregator>(2, 1, kDefaultFibers, [](Thread& self) {
          constexpr std::uint64_t kCalls = 2000;
          for (std::uint64_t i = 0; i < kCalls; ++i) {
            require(support::my_channel<RDMAAggregator>()->call(self.neighbour(1),
                                                                [i] {
                                                                  ledger(0) += ledger(1)++ != i;
                                                                  // Some wait, in the middle of a
                                                                  // run.
                                                                  if (i % 7 == 0)
                                                                    FiberPool::wait_step();
                                                                  ++ledger(2);
                                                                }),
                    "sent");
          }
          riutils::wait_for_termination(self);
          require_equal(ledger(0).load(), 0u, "calls that began out of order");
          require_equal(ledger(1).load(), kCalls, "calls that began");
          require_equal(ledger(2).load(), kCalls, "calls that ended");
        }) == "");
}

TEMPLATE_TEST_CASE("calls_stay_in_the_ring_while_no_stack_is_free", "", RDMAMessengerGlobal,
                   RDMAAggregator) {
  riutils::FiberOptions few;
  few.max_fibers = 3;
  CHECK(in_fibers<TestType>(2, 1, few, [](Thread& self) {
          constexpr std::uint64_t kCalls = 500;
          TestType& calls = *support::my_channel<TestType>();
          const auto wait = [] {
            go().wait();
            ++ledger(0);
          };
          for (std::uint64_t i = 0; i < kCalls; ++i) {
            require(calls.call(self.neighbour(1), wait), "sent");
          }
          (void)calls.flush();
          const FiberPool& pool = *FiberPool::current();
          serve_until(self, [&] { return pool.unfinished() == 3; });
          for (int i = 0; i < 1000; ++i) self.progress();
          require_equal(ledger(0).load(), 0u, "calls that ended");
          require(RingSet::of(self).executed() <= 3, "the others are in the ring");
          go().decrement();
          riutils::wait_for_termination(self);
          require_equal(ledger(0).load(), kCalls, "calls that ended");
          const auto counters = RingSet::of(self).counters();
          require_equal(counters.incoming.at(0).calls, kCalls, "calls counted");
        }) == "");
}

TEST_CASE("exceptions_of_calls_in_fibers_lose_no_call") {
  CHECK(in_fibers<RDMAAggregator>(1, 1, kDefaultFibers, [](Thread& self) {
          constexpr std::uint64_t kCalls = 300;
          RDMAAggregator& calls = *support::my_channel<RDMAAggregator>();
          // So that no call waits, and throws what others throw.
          calls.setup(self.id());
          for (std::uint64_t i = 0; i < kCalls; ++i) {
            const auto maybe_throw = [i] {
              ++ledger(0);
              if (i % 50 == 3) FiberPool::wait_step();
              if (i % 10 == 3) throw std::runtime_error("no");
            };
            require(calls.call(self.id(), maybe_throw), "sent");
          }
          // There is no upcall, so they come out of progress().
          std::uint64_t thrown = 0;
          dtutils::Deadline deadline(std::chrono::seconds(20));
          while (ledger(0) != kCalls || thrown != kCalls / 10) {
            require(!deadline.passed(), "all calls run, and throw");
            try {
              self.progress();
            } catch (const std::runtime_error&) {
              ++thrown;
            }
          }
        }) == "");
}

TEST_CASE("call_that_is_too_large_for_a_stack_runs_inline") {
  riutils::FiberOptions small;
  small.stack_size = 16u << 10;
  CHECK(in_fibers<RDMAMessengerGlobal>(2, 1, small, [](Thread& self) {
          const auto look = [](CallContext&, std::byte*, std::uint32_t bytes) {
            ledger(FiberPool::inside() ? 0 : 1) += bytes;
          };
          RDMAMessengerGlobal& calls = *support::my_channel<RDMAMessengerGlobal>();
          for (const std::size_t size : {1000, 6000}) {
            const std::vector<std::byte> bytes(size);
            require(calls.call_buffer(self.neighbour(1), look, bytes), "sent");
          }
          riutils::wait_for_termination(self);
          require_equal(ledger(0).load(), 1000u, "bytes in fibers");
          require_equal(ledger(1).load(), 6000u, "bytes inline");
        }) == "");
}

TEST_CASE("calls_in_fibers_need_a_pool_and_an_owner_that_polls") {
  CHECK(support::run_helper_job(1, 1, 1, [](Thread& self, riutils::HelperThreads& helpers) {
          RingSet& ring_set = RingSet::of(self);
          const auto refusal = [&] {
            return support::error_text([&] { ring_set.run_in_fibers(true); });
          };
          require(refusal().find("no FiberPool") != std::string::npos, "without a pool");
          const FiberPool pool(self);
          {
            const riutils::Delegation delegation(helpers, self);
            require(refusal().find("helper") != std::string::npos, "while a helper polls");
          }
          require(refusal() == "(no error)", "now it can");
          // The helper has a pool of its own.
          const riutils::Delegation delegation(helpers, self);
          RDMAMessengerGlobal calls(self);
          ReturnSlot<bool> slot(self.fabric());
          const auto look = [](CallContext& call) {
            return FiberPool::inside() && call.fabric.current_thread() == nullptr;
          };
          require(calls.call_return(self.id(), look, slot), "sent");
          require(slot.get(), "in a fiber of the helper");
        }) == "");
}
