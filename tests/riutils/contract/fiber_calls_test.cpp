// SPDX-License-Identifier: MIT
// Handlers that wait, over every channel: nested calls, calls back, chains, calls of oneself.
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "dsfabric/support/killed_job.hpp"
#include "riutils/fiber_mutex.hpp"
#include "riutils/in_fiber.hpp"
#include "riutils/rdma_aggregator.hpp"
#include "riutils/rdma_messenger_global.hpp"
#include "riutils/support/handler_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/per_process.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using riutils::FiberOptions;
using riutils::FiberPool;
using riutils::in_fiber;
using riutils::RDMAAggregator;
using riutils::RDMAMessengerGlobal;
using support::ask;
using support::go;
using support::kDefaultFibers;
using support::ledger;
using support::Member;
using support::my_channel;
using support::require;
using support::require_equal;
using support::run_handler_job;
using support::serve_until;

namespace {

ThreadId somebody(Fabric& fabric, std::uint64_t number) {
  return fabric.thread_of_rank(static_cast<std::uint32_t>(number * 0x9e3779b97f4a7c15u >> 40) %
                               fabric.total_threads());
}

/// Each call asks two others, anywhere, and waits for them.
template <class Channel>
struct Fibonacci {
  std::uint32_t n;
  std::uint64_t operator()(CallContext& call) {
    require(FiberPool::inside(), "it is a fiber");
    ++ledger(0);
    if (n < 2) return n;
    ReturnSlot<std::uint64_t> left(call.fabric);
    ReturnSlot<std::uint64_t> right(call.fabric);
    Channel& calls = *my_channel<Channel>();
    const std::uint64_t count = ledger(0);
    require(calls.call_return(somebody(call.fabric, count), in_fiber(Fibonacci{n - 1}), left),
            "sent");
    require(
        calls.call_return(somebody(call.fabric, count * 7 + 1), in_fiber(Fibonacci{n - 2}), right),
        "sent");
    return left.get() + right.get();
  }
};

}  // namespace

TEMPLATE_TEST_CASE("waiting_handler_asks_a_third_thread_and_its_caller", "", SendChannel,
                   RDMAMessengerGlobal, RDMAAggregator) {
  CHECK(run_handler_job<TestType>(3, 1, &kDefaultFibers, [](Thread& self) {
          for (std::uint64_t i = 0; i < 100; ++i) {
            const ThreadId next = self.neighbour(1);
            const ThreadId third = self.neighbour(2);
            const auto sum = ask<TestType>(
                self.fabric(), next, in_fiber([third, i](CallContext& call) {
                  const auto home = ask<TestType>(call.fabric, call.source, [i] { return i * 10; });
                  const auto there = ask<TestType>(call.fabric, third, [i] { return i * 100; });
                  return i + home + there;
                }));
            require_equal(sum, i * 111, "sum");
          }
        }) == "");
}

TEMPLATE_TEST_CASE("waiting_handler_calls_its_own_thread", "", SendChannel, RDMAMessengerGlobal,
                   RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 1, &kDefaultFibers, [](Thread& self) {
          const auto depth = ask<TestType>(
              self.fabric(), self.neighbour(1), in_fiber([](CallContext& call) -> int {
                const ThreadId here = call.worker->id();
                return 1 + ask<TestType>(
                               call.fabric, here, in_fiber([here](CallContext& inner) -> int {
                                 return 1 + ask<TestType>(inner.fabric, here, [] { return 1; });
                               }));
              }));
          require_equal(depth, 3, "depth");
        }) == "");
}

TEMPLATE_TEST_CASE("trees_of_waiting_handlers_end", "", SendChannel, RDMAMessengerGlobal,
                   RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 2, &kDefaultFibers, [](Thread& self) {
          const auto value =
              ask<TestType>(self.fabric(), self.neighbour(1), in_fiber(Fibonacci<TestType>{11}));
          require_equal(value, 89u, "fibonacci number");
        }) == "");
}

TEMPLATE_TEST_CASE("exception_of_a_waiting_handler_reaches_its_caller", "", SendChannel,
                   RDMAMessengerGlobal, RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 1, &kDefaultFibers, [](Thread& self) {
          const auto text = support::error_text([&] {
            ask<TestType>(self.fabric(), self.neighbour(1), in_fiber([](CallContext& call) -> int {
                            ask<TestType>(call.fabric, call.source, []() -> int {
                              throw std::runtime_error("no bread left");
                            });
                            return 1;
                          }));
          });
          require(text.find("no bread left") != std::string::npos, text);
        }) == "");
}

TEMPLATE_TEST_CASE("call_in_a_fiber_says_when_no_stack_is_left", "", SendChannel,
                   RDMAMessengerGlobal, RDMAAggregator) {
  FiberOptions one;
  one.max_fibers = 1;
  CHECK(run_handler_job<TestType>(2, 1, &one, [](Thread& self) {
          ReturnSlot<int> first(self.fabric());
          TestType& calls = *my_channel<TestType>();
          require(calls.call_return(self.neighbour(1), in_fiber([]() -> int {
                                      go().wait();
                                      return 5;
                                    }),
                                    first),
                  "sent");
          const auto text = support::error_text(
              [&] { ask<TestType>(self.fabric(), self.neighbour(1), in_fiber([] { return 6; })); });
          require(text.find("FiberOptions::max_fibers") != std::string::npos, text);
          require(calls.call(self.neighbour(1), [] { go().decrement(); }), "sent");
          require_equal(first.get(), 5, "result");
        }) == "");
}

TEMPLATE_TEST_CASE("call_in_a_fiber_says_when_there_is_no_pool", "", SendChannel,
                   RDMAMessengerGlobal, RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 1, nullptr, [](Thread& self) {
          const auto text = support::error_text(
              [&] { ask<TestType>(self.fabric(), self.neighbour(1), in_fiber([] { return 6; })); });
          require(text.find("has no FiberPool") != std::string::npos, text);
        }) == "");
}

TEMPLATE_TEST_CASE("buffers_and_broadcasts_run_in_fibers_too", "", SendChannel, RDMAMessengerGlobal,
                   RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 2, &kDefaultFibers, [](Thread& self) {
          TestType& calls = *my_channel<TestType>();
          const std::vector<std::byte> bytes(600, std::byte{7});
          const auto check = [](CallContext& call, std::byte* data, std::uint32_t size) {
            (void)ask<TestType>(call.fabric, call.source, [] { return 0; });
            for (std::uint32_t i = 0; i < size; ++i) ledger(1) += data[i] == std::byte{7};
            ++ledger(2);
          };
          require(calls.call_buffer(self.neighbour(1), in_fiber(check), bytes), "sent");
          auto memory = self.fabric().general_allocator().allocate(600);
          std::memset(memory.data(), 7, memory.size());
          ReturnSlot<void> read(self.fabric());
          require(calls.call_buffer(self.neighbour(1), in_fiber(check), memory, read,
                                    ReadOn::kServiceThread),
                  "sent");
          read.get();
          ExecutionSlots executed(self.fabric());
          require(calls.broadcast_buffer(in_fiber(check), bytes, &executed), "sent");
          require(executed.wait().empty(), "all have executed it");
          self.barrier();
          // Each process: two workers get a call of either kind, and four broadcasts each.
          serve_until(self, [] { return ledger(2) == 2 * 2 + 2 * 4; });
          require_equal(ledger(1).load(), 2 * (600 + memory.size()) + 8 * 600, "right bytes");
        }) == "");
}

TEMPLATE_TEST_CASE("waiting_handlers_share_a_lock", "", SendChannel, RDMAMessengerGlobal,
                   RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 2, &kDefaultFibers, [](Thread& self) {
          static support::PerProcess<riutils::FiberMutex> mutex;
          static support::PerProcess<std::uint64_t> counter;
          constexpr std::uint64_t kCalls = 50;
          for (std::uint64_t i = 0; i < kCalls; ++i) {
            require(my_channel<TestType>()->call(self.neighbour(std::int64_t(i)),
                                                 in_fiber([](CallContext& call) {
                                                   const std::scoped_lock lock(*mutex);
                                                   const std::uint64_t seen = *counter;
                                                   ask<TestType>(call.fabric, call.source, [] {});
                                                   *counter = seen + 1;
                                                   ++ledger(0);
                                                 })),
                    "sent");
          }
          // Counted by both workers of a process.
          serve_until(self, [&] { return self.all_reduce(ledger(0).load()) == 2 * 4 * kCalls; });
          self.barrier();
          const std::scoped_lock lock(*mutex);
          require_equal(*counter, ledger(0).load(), "counted");
        }) == "");
}

TEST_CASE("dead_process_ends_the_waits_of_handlers") {
  const std::string ends = support::run_and_kill(3, 2, [](Member& member, Thread& self) {
    const FiberPool fibers(self);
    RDMAMessengerGlobal calls(self);
    my_channel<RDMAMessengerGlobal>() = &calls;
    // So that its ring is there before it dies.
    if (member.rank == 1) calls.setup({{2}, 0});
    support::meet(member, self);
    if (member.rank == 2) support::serve_nothing();
    if (member.rank == 0) {
      // The memory lies at one address in all of these processes.
      const auto text = support::error_text([&, there = &member.memory] {
        ask<RDMAMessengerGlobal>(self.fabric(), {{1}, 0},
                                 in_fiber([there](CallContext& call) -> int {
                                   ReturnSlot<int> slot(call.fabric);
                                   require(my_channel<RDMAMessengerGlobal>()->call_return(
                                               {{2}, 0}, [] { return 1; }, slot),
                                           "sent");
                                   support::end_victim(*there);
                                   return slot.get();
                                 }));
      });
      require(text.find("is gone") != std::string::npos, text);
      member.memory.words[0] = 1;
    }
    serve_until(self, [&] { return member.memory.words[0] == 1; });
  });
  CHECK(ends == "2: signal 9\n");
}
