// SPDX-License-Identifier: MIT
// What a handler may wait for: the rules of the README, and what happens to those who break them.
#include <array>
#include <chrono>
#include <stdexcept>

#include "dtutils/clock.hpp"
#include "riutils/fiber_mutex.hpp"
#include "riutils/in_fiber.hpp"
#include "riutils/rdma_aggregator.hpp"
#include "riutils/rdma_messenger_global.hpp"
#include "riutils/support/handler_job.hpp"
#include "riutils/termination.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/per_process.hpp"

using namespace dsfabric;
using dtutils::Synchronizer;
using riutils::FiberOptions;
using riutils::in_fiber;
using riutils::RDMAAggregator;
using riutils::RDMAMessengerGlobal;
using support::ask;
using support::error_text;
using support::kDefaultFibers;
using support::ledger;
using support::my_channel;
using support::require;
using support::require_equal;
using support::run_handler_job;

namespace {

constexpr std::chrono::milliseconds kShort{100};

/// Calls `to` back from a handler and waits, for a while, until that call has run.
template <class Channel>
bool comes_back(CallContext& call, ThreadId to, std::chrono::nanoseconds limit) {
  static support::PerProcess<std::array<std::atomic<bool>, 64>> all;
  std::array<std::atomic<bool>, 64>& come = *all;
  const std::size_t which = ledger(3)++ % 64;
  come[which] = false;
  const GlobalPtr<std::atomic<bool>> flag(call.fabric, &come[which]);
  const ThreadId home = call.worker->id();
  require(my_channel<Channel>()->call(
              to,
              [flag, home](CallContext& there) {
                require(my_channel<Channel>()->call(
                            home, [flag](CallContext& here) { *flag.get(here.fabric) = true; }),
                        "sent");
                (void)there;
              }),
          "sent");
  Synchronizer nothing(1);
  const auto end = dtutils::Clock::now() + limit;
  while (!come[which] && dtutils::Clock::now() < end) {
    (void)nothing.wait_for(std::chrono::milliseconds(1));
  }
  return come[which];
}

}  // namespace

TEMPLATE_TEST_CASE("inline_handler_cannot_wait_for_a_call_to_its_own_thread", "", SendChannel,
                   RDMAMessengerGlobal, RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 1, &kDefaultFibers, [](Thread& self) {
          const ThreadId other = self.neighbour(1);
          const bool waited = ask<TestType>(self.fabric(), other, [](CallContext& call) {
            return comes_back<TestType>(call, call.source, kShort);
          });
          require(!waited, "no handler runs inside another");
          const bool fiber = ask<TestType>(self.fabric(), other, in_fiber([](CallContext& call) {
                                             return comes_back<TestType>(call, call.source,
                                                                         std::chrono::seconds(20));
                                           }));
          require(fiber, "a fiber gives its thread back");
          riutils::wait_for_termination(self);
        }) == "");
}

TEMPLATE_TEST_CASE("inline_handler_that_would_wait_is_told_to_be_a_fiber", "", SendChannel,
                   RDMAMessengerGlobal, RDMAAggregator) {
  // Three threads, and the waits go one way only: even so it hangs over rings, by timing, since
  // what is queued or batched is sent by progress(), which does nothing of the kind inside a
  // handler.
  CHECK(run_handler_job<TestType>(3, 1, &kDefaultFibers, [](Thread& self) {
          static support::PerProcess<Synchronizer, 1u> opened;
          const ThreadId last = self.neighbour(2);
          const auto forward = [last](CallContext& call) {
            // Whoever is off its core for long may find a result when it comes to wait for it.
            return ask<TestType>(call.fabric, last, in_fiber([] {
                                   opened->wait();
                                   return 20;
                                 })) +
                   1;
          };
          if (self.id().process.value == 0) {
            const ThreadId next = self.neighbour(1);
            const std::string text =
                error_text([&] { (void)ask<TestType>(self.fabric(), next, forward); });
            require(text.find("in_fiber") != std::string::npos, text);
            require(my_channel<TestType>()->call(last, [] { opened->decrement(); }), "sent");
            require_equal(ask<TestType>(self.fabric(), next, in_fiber(forward)), 21, "result");
          }
          riutils::wait_for_termination(self);
        }) == "");
}

TEMPLATE_TEST_CASE("inline_handlers_take_a_lock_only_by_trying", "", SendChannel,
                   RDMAMessengerGlobal, RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 1, &kDefaultFibers, [](Thread& self) {
          static support::PerProcess<riutils::FiberMutex> mutex;
          const ThreadId other = self.neighbour(1);
          TestType& calls = *my_channel<TestType>();
          ReturnSlot<void> queued(self.fabric());
          require(calls.call_return(other, in_fiber([](CallContext& call) {
                                      const std::scoped_lock lock(*mutex);
                                      (void)ask<TestType>(call.fabric, call.source,
                                                          [] { return ++ledger(0); });
                                    }),
                                    queued),
                  "sent");
          require(calls.call(other,
                             [] {
                               if (mutex->try_lock()) {
                                 ++ledger(1);
                                 mutex->unlock();
                               } else {
                                 ++ledger(2);
                               }
                             }),
                  "sent");
          queued.get();
          riutils::wait_for_termination(self);
          require_equal(ledger(1) + ledger(2), 1u, "it did not wait");
        }) == "");
}

TEMPLATE_TEST_CASE("handlers_that_flood_each_other_do_not_block", "", SendChannel,
                   RDMAMessengerGlobal, RDMAAggregator) {
  // More than rings take: inline handlers hold calls, up to a limit; fibers wait for room.
  CHECK(run_handler_job<TestType>(2, 1, &kDefaultFibers, [](Thread& self) {
          const ThreadId other = self.neighbour(1);
          struct Words {
            std::uint64_t words[24] = {};
            void operator()() const { ++ledger(0); }
          };
          struct Burst {
            void operator()(CallContext& call) const {
              for (int i = 0; i < 100; ++i) {
                const CallStatus status = my_channel<TestType>()->call(call.source, Words{});
                if (status != CallStatus::kAccepted) continue;
                ++ledger(riutils::FiberPool::inside() ? 1 : 2);
              }
            }
          };
          for (int i = 0; i < 20; ++i) {
            require(my_channel<TestType>()->call(other, Burst{}), "sent");
            require(my_channel<TestType>()->call(other, in_fiber(Burst{})), "sent");
          }
          riutils::wait_for_termination(self);
          require_equal(self.all_reduce(ledger(0).load()), self.all_reduce(ledger(1) + ledger(2)),
                        "executed");
          require_equal(ledger(1).load(), 20u * 100, "calls made by fibers");
        }) == "");
}

TEMPLATE_TEST_CASE("exceptions_of_handlers_go_to_the_upcall", "", SendChannel, RDMAMessengerGlobal,
                   RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 1, &kDefaultFibers, [](Thread& self) {
          self.fabric().on_exception([](const CallContext& call, std::exception_ptr) {
            ledger(0) += call.source.process != call.fabric.process();
          });
          self.barrier();
          const ThreadId other = self.neighbour(1);
          TestType& calls = *my_channel<TestType>();
          for (int i = 0; i < 20; ++i) {
            require(calls.call(other, [] { throw std::runtime_error("no bread left"); }), "sent");
            require(calls.call(other, in_fiber([] {
                                 riutils::FiberPool::wait_step();
                                 throw 7;
                               })),
                    "sent");
            require(calls.call(other, [] { ++ledger(1); }), "sent");
          }
          riutils::wait_for_termination(self);
          require_equal(ledger(0).load(), 40u, "upcalls");
          require_equal(ledger(1).load(), 20u, "calls after them");
        }) == "");
}

TEMPLATE_TEST_CASE("inline_handler_that_would_wait_for_a_lock_is_told_how_to", "", SendChannel,
                   RDMAMessengerGlobal, RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 1, &kDefaultFibers, [](Thread& self) {
          static support::PerProcess<riutils::FiberMutex> mutex;
          const ThreadId other = self.neighbour(1);
          const auto count = [] {
            const std::scoped_lock lock(*mutex);
            return ++ledger(0);
          };
          require_equal(ask<TestType>(self.fabric(), other, count), 1u, "a free lock");
          riutils::wait_for_termination(self);
          mutex->lock();
          self.barrier();
          const std::string text =
              error_text([&] { (void)ask<TestType>(self.fabric(), other, count); });
          require(text.find("FiberMutex::lock()") != std::string::npos, text);
          require(text.find("in_fiber") != std::string::npos, text);
          ReturnSlot<std::uint64_t> counted(self.fabric());
          require(my_channel<TestType>()->call_return(other, in_fiber([] {
                                                        const std::scoped_lock lock(*mutex);
                                                        return std::uint64_t{++ledger(0)};
                                                      }),
                                                      counted),
                  "sent");
          self.barrier();
          mutex->unlock();
          require_equal(counted.get(), 2u, "a fiber waits");
          riutils::wait_for_termination(self);
        }) == "");
}
