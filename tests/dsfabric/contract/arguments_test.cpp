// SPDX-License-Identifier: MIT
// Arguments beside the callable, and results that are no plain data.
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "dsfabric/support/call_job.hpp"
#include "dsfabric/support/killed_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using namespace support;

namespace {

struct Person {
  std::string name;
  int year;
};

/// Says that it is longer than it is.
struct Lie {
  std::string text;
};

/// A function whose record is forged below.
struct Greet {
  void operator()(const std::string&) const { ++ledger().wrong; }
};
struct GreetBack {
  int operator()(const std::string&) const {
    ++ledger().wrong;
    return 1;
  }
};

/// Sends a call of `Wrapped` whose argument's length is a lie.
template <class Wrapped>
void send_lie(SendChannel& calls, ThreadId to) {
  std::byte* const at = calls.reserve(to, function_index<Wrapped>(), sizeof(Wrapped) + 8);
  require(at != nullptr, "there is room");
  std::memset(at, 0, sizeof(Wrapped));
  std::memset(at + sizeof(Wrapped), 0x7f, 8);
  require(calls.commit(nullptr), "sent");
}

}  // namespace

template <>
struct dsfabric::Travels<Person> {
  static void pack(Packer& out, const Person& person) { out(person.name, person.year); }
  static Person unpack(Unpacker& in) {
    auto name = in.value<std::string>();
    return {std::move(name), in.value<int>()};
  }
};

template <>
struct dsfabric::Travels<Lie> {
  static void pack(Packer& out, const Lie&) { out.count(0x7fff'ffff); }
  static Lie unpack(Unpacker& in) { return {in.value<std::string>()}; }
};

TEST_CASE("arguments_arrive_as_they_were_given") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    const ThreadId to = self.neighbour(1);
    for (int i = 0; i < 20; ++i) {
      const std::string text(static_cast<std::size_t>(i) * 40, 'x');
      std::vector<std::uint64_t> numbers(static_cast<std::size_t>(i));
      std::iota(numbers.begin(), numbers.end(), 5u);
      // Plain data.
      require(calls.call(
                  to, [i](int a, double b) { ledger().sum += a == i && b == 0.5; }, i, 0.5) ==
                  CallStatus::kAccepted,
              "sent");
      // With a literal, a view, and the context.
      const auto check = [i](CallContext& call, const std::string& literal, std::string_view view,
                             std::vector<std::uint64_t> list) {
        const auto size = static_cast<std::size_t>(i);
        ledger().sum += call.worker != nullptr && literal == "literal" &&
                        view == std::string(size * 40, 'x') && list.size() == size &&
                        (size == 0 || list.back() == size + 4);
      };
      require(calls.call(to, check, "literal", std::string_view(text), numbers) ==
                  CallStatus::kAccepted,
              "sent");
      auto answer = calls.call_return(
          to,
          [](const std::vector<Person>& people, std::optional<int> more,
             std::tuple<std::string, int> last) {
            return people.at(0).year + more.value_or(-1000) + std::get<1>(last);
          },
          std::vector<Person>{{"Ada", 1815 + i}}, std::optional<int>(7), std::tuple(text, 3));
      require_equal(answer.get(), 1815 + i + 7 + 3, "result");
      require_equal(calls
                        .call_return(
                            to, [](int a, int b) { return a * b; }, i, 3)
                        .get(),
                    3 * i, "result of plain arguments");
      calls
          .call_return(
              to, [](std::string word) { ledger().sum += word.empty(); }, "")
          .get();
    }
    wait_for_termination(self);
    require_equal(ledger().sum.load(), 60u, "all arguments were right");
  });
}

TEST_CASE("results_that_are_no_plain_data_come_home") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    const ThreadId to = self.neighbour(1);
    for (int i = 0; i < 10; ++i) {
      const std::string text(static_cast<std::size_t>(i) * 400, 'y');
      require(calls.call_return(
                       to, [](std::string word) { return word + "!"; }, text)
                      .get() == text + "!",
              "a string there and back");
      const auto people =
          calls.call_return(to,
                            [i] {
                              return std::vector<Person>(2, {"Ada", 1815 + i});
                            })
              .get();
      require(people.size() == 2 && people[1].name == "Ada" && people[1].year == 1815 + i,
              "a vector of an own type");
      const auto pair = calls.call_return(to, [] { return std::pair<int, bool>(4, true); }).get();
      require(pair.first == 4 && pair.second, "a pair");
    }
    std::string followed;
    calls.call_return(to, [] { return std::string("later"); }).then([&](std::string value) {
      followed = std::move(value);
    });
    serve_until(self, [&] { return followed == "later"; });
    self.barrier();
  });
}

TEST_CASE("result_that_is_too_large_is_an_error_of_its_caller") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    const auto long_text = [](std::size_t size) { return std::string(size, 'z'); };
    // The length of the string takes 4.
    require_equal(
        calls.call_return(self.neighbour(1), long_text, kMaxPackedResult - 4).get().size(),
        kMaxPackedResult - 4, "the largest");
    auto refused = calls.call_return(self.neighbour(1), long_text, kMaxPackedResult - 3);
    const std::string text = error_text([&] { (void)refused.get(); });
    has(text, "4089 bytes");
    has(text, "call_buffer");
    self.barrier();
  });
}

TEST_CASE("arguments_that_no_record_can_carry_are_refused_at_the_sender") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    const std::string large(self.fabric().max_message() + 1, 'x');
    const std::string text = error_text([&] {
      (void)calls.call(
          self.neighbour(1), [](const std::string&) {}, large);
    });
    has(text, "do not fit into a receive buffer");
    has(text, "RDMA");
    has(error_text([&] {
          (void)calls.call_return(
              self.neighbour(1), [](const std::string&) {}, large);
        }),
        "do not fit into a receive buffer");
    // The thread goes on.
    calls
        .call_return(
            self.neighbour(1), [](const std::string&) {}, "small")
        .get();
    self.barrier();
  });
}

TEST_CASE("exception_of_a_call_with_arguments_arrives") {
  in_every_mode(2, 1, [](Thread& self) {
    SendChannel calls(self.fabric());
    auto failed = calls.call_return(
        self.neighbour(1), [](const std::string& what) -> int { throw std::runtime_error(what); },
        "no bread left");
    has(error_text([&] { (void)failed.get(); }), "no bread left");
    self.barrier();
  });
}

TEST_CASE("arguments_whose_lengths_lie_fail_their_sender_and_nobody_else") {
  for (const bool with_result : {false, true}) {
    const std::string ends = run_and_kill(3, 2, [&](Member& member, Thread& self) {
      Fabric& fabric = self.fabric();
      SendChannel calls(fabric);
      if (member.rank == 2) {
        const ThreadId to{{0}, 0};
        with_result ? send_lie<detail::ReturningWithArguments<GreetBack, std::string>>(calls, to)
                    : send_lie<detail::WithArguments<Greet, std::string>>(calls, to);
        support::serve_nothing();
      } else if (member.rank == 0) {
        serve_until(self, [&] { return fabric.failed(ProcessId{2}); });
        has(fabric.failure_reason(ProcessId{2}), "arguments of its call are invalid");
        require_equal(ledger().wrong.load(), 0u, "the call did not run");
        // The other one is well.
        require_equal(calls
                          .call_return(
                              ThreadId{{1}, 0}, [](int a) { return a; }, 4)
                          .get(),
                      4, "result");
        support::end_victim(member.memory);
      } else {
        serve_until(self, [&] { return support::victim_may_end(member.memory); });
      }
    });
    CHECK(ends == "2: signal 9\n");
  }
}

TEST_CASE("result_whose_length_lies_fails_its_sender") {
  const std::string ends = run_and_kill(2, 1, [](Member& member, Thread& self) {
    support::meet(member, self);
    Fabric& fabric = self.fabric();
    if (member.rank == 1) {
      serve_until(self, [&] { return fabric.state(ProcessId{0}) != PeerState::kActive; });
      support::serve_nothing();
    }
    SendChannel calls(fabric);
    auto answer = calls.call_return(ThreadId{{1}, 0}, [] { return Lie(); });
    has(error_text([&] { (void)answer.get(); }), "a result that it sent is invalid");
    serve_until(self, [&] { return fabric.failed(ProcessId{1}); });
    support::end_victim(member.memory);
  });
  CHECK(ends == "1: signal 9\n");
}
