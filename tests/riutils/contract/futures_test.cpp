// SPDX-License-Identifier: MIT
// Futures of calls over every channel: awaited, followed by calls, and awaited in fibers.
#include <stdexcept>
#include <string>
#include <vector>

#include "riutils/support/handler_job.hpp"
#include "support/error_text.hpp"
#include "support/per_process.hpp"

using namespace dsfabric;
using riutils::in_fiber;
using riutils::RDMAAggregator;
using riutils::RDMAMessenger;
using riutils::RDMAMessengerGlobal;
using support::error_text;
using support::flush_if_gathered;
using support::kDefaultFibers;
using support::ledger;
using support::my_channel;
using support::require;
using support::require_equal;
using support::run_handler_job;

TEMPLATE_TEST_CASE("many_futures_are_in_flight_over_every_channel", "", SendChannel,
                   RDMAMessengerGlobal, RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 2, nullptr, [](Thread& self) {
          TestType& channel = *my_channel<TestType>();
          for (int round = 0; round < 20; ++round) {
            std::vector<RemoteFuture<int>> futures;
            for (int i = 0; i < 100; ++i) {
              futures.push_back(channel.call_return(self.neighbour(1 + i % 3), [i] {
                if (i % 10 == 0) throw std::runtime_error("tenth");
                return i;
              }));
              // Forgotten at once, in the midst of the others.
              if (i % 7 == 0) (void)channel.call_return(self.neighbour(1), [] { ++ledger(0); });
            }
            flush_if_gathered(channel);
            for (int i = 0; i < 100; ++i) {
              RemoteFuture<int>& future = futures[static_cast<std::size_t>(i)];
              if (i % 10 == 0) {
                require(error_text([&] { (void)future.get(); }).find("tenth") != std::string::npos,
                        "the exception arrives");
              } else {
                require_equal(future.get(), i, "result");
              }
            }
          }
          riutils::wait_for_termination(self);
          require_equal(ledger(0).load(), 2u * 20 * 15, "forgotten calls ran");
        }) == "");
}

TEMPLATE_TEST_CASE("continuations_call_on_over_every_channel", "", SendChannel, RDMAMessengerGlobal,
                   RDMAAggregator) {
  CHECK(
      run_handler_job<TestType>(2, 1, nullptr, [](Thread& self) {
        static support::PerProcess<int> followed;
        TestType& channel = *my_channel<TestType>();
        const ThreadId to = self.neighbour(1);
        for (int i = 0; i < 200; ++i) {
          channel.call_return(to, [i] { return i; }).then([to](int value) {
            my_channel<TestType>()->call_return(to, [value] { return -value; }).then([](int back) {
              *followed -= back;
            });
          });
        }
        riutils::wait_for_termination(self);
        require_equal(*followed, 199 * 200 / 2, "all were followed");
      }) == "");
}

TEST_CASE("messenger_with_a_destination_gives_futures") {
  CHECK(run_handler_job<RDMAMessengerGlobal>(2, 1, nullptr, [](Thread& self) {
          RDMAMessenger messenger(self, self.neighbour(1));
          require_equal(messenger.call_return([] { return 6; }).get(), 6, "result");
          ReturnSlot<int> slot(self.fabric());
          require(messenger.call_return([] { return 7; }, slot), "sent");
          require_equal(slot.get(), 7, "result");
        }) == "");
}

TEMPLATE_TEST_CASE("fibers_wait_for_futures", "", SendChannel, RDMAMessengerGlobal,
                   RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 1, &kDefaultFibers, [](Thread& self) {
          TestType& channel = *my_channel<TestType>();
          std::vector<RemoteFuture<int>> futures;
          for (int i = 0; i < 100; ++i) {
            const auto ask_back = [i](CallContext& call) {
              auto back = my_channel<TestType>()->call_return(call.source, [i] { return i * i; });
              flush_if_gathered(*my_channel<TestType>());
              if (i % 2 == 0) (void)back.wait_for(std::chrono::seconds(20));
              return back.get() + 1;
            };
            futures.push_back(channel.call_return(self.neighbour(1), in_fiber(ask_back)));
          }
          flush_if_gathered(channel);
          for (int i = 0; i < 100; ++i) {
            require_equal(futures[static_cast<std::size_t>(i)].get(), i * i + 1, "result");
          }
        }) == "");
}

TEMPLATE_TEST_CASE("calls_of_coroutines_end_with_them_over_every_channel", "", SendChannel,
                   RDMAMessengerGlobal, RDMAAggregator) {
  CHECK(run_handler_job<TestType>(3, 1, nullptr, [](Thread& self) {
          TestType& channel = *my_channel<TestType>();
          std::vector<RemoteFuture<std::string>> futures;
          for (int i = 0; i < 100; ++i) {
            const auto ask_both = [third = self.neighbour(2)](
                                      CallContext& call,
                                      const std::string& text) -> Task<std::string> {
              TestType& mine = *my_channel<TestType>();
              auto there = mine.call_return(third, [] { return std::string("third"); });
              auto back = mine.call_return(
                  call.source, [](std::string own) { return own + "!"; }, text);
              const auto [first, second] = co_await when_all(std::move(there), std::move(back));
              co_return first + second;
            };
            futures.push_back(channel.call_return(self.neighbour(1), ask_both, std::to_string(i)));
          }
          flush_if_gathered(channel);
          const auto answers = sync_wait(self.fabric(), when_all(std::move(futures)));
          for (int i = 0; i < 100; ++i) {
            require(answers[static_cast<std::size_t>(i)] == "third" + std::to_string(i) + "!",
                    "result");
          }
        }) == "");
}

TEMPLATE_TEST_CASE("arguments_travel_over_every_channel", "", SendChannel, RDMAMessengerGlobal,
                   RDMAAggregator) {
  CHECK(run_handler_job<TestType>(2, 1, &kDefaultFibers, [](Thread& self) {
          TestType& channel = *my_channel<TestType>();
          const ThreadId to = self.neighbour(1);
          for (int i = 0; i < 300; ++i) {
            const std::vector<std::string> words(static_cast<std::size_t>(i % 20), "word");
            const auto count = [](const std::vector<std::string>& list, int more) {
              ledger(1) += list.size() + static_cast<std::uint64_t>(more);
            };
            require(channel.call(to, count, words, 1), "sent");
            require(channel.call(
                        to, [](int a, int b) { ledger(1) += a == b; }, i, i),
                    "sent");
            require(channel.call(to, in_fiber(count), words, 1), "sent");
          }
          riutils::wait_for_termination(self);
          require_equal(ledger(1).load(), 2u * (15 * 190 + 300) + 300, "all arguments arrived");
          const std::string large(std::size_t{1} << 20, 'x');
          const std::string text = error_text([&] {
            (void)channel.call(
                to, [](const std::string&) {}, large);
          });
          require(text.find("do not fit into a") != std::string::npos, text);
        }) == "");
}
