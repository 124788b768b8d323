// SPDX-License-Identifier: MIT
// Handlers that call back: nothing is lost while rings are full, nobody blocks, and what is queued
// stays small.
#include <array>
#include <chrono>
#include <cmath>

#include "dtutils/clock.hpp"
#include "riutils/support/handler_job.hpp"
#include "support/per_process.hpp"

using namespace dsfabric;
using riutils::AggregatorOptions;
using riutils::in_fiber;
using riutils::RDMAAggregator;
using riutils::RDMAMessengerGlobal;
using riutils::RingOptions;
using support::kDefaultFibers;
using support::my_channel;
using support::require;
using support::require_equal;

namespace {

/// The smallest ring there is, which holds nothing but what handlers call.
constexpr RingOptions kSmallest{256, 2, 2, 0};

struct Gathered {
  static RDMAAggregator make(Thread& self, const RingOptions& ring) {
    return RDMAAggregator(self, {.ring = ring, .flush_bytes = 100});
  }
};
struct Overflow {
  static RDMAAggregator make(Thread& self, const RingOptions& ring) {
    return RDMAAggregator(self, {.mode = AggregatorOptions::Mode::kOverflow, .ring = ring});
  }
};
struct Single {
  static RDMAMessengerGlobal make(Thread& self, const RingOptions& ring) {
    return RDMAMessengerGlobal(self, {.ring = ring});
  }
};
template <class Kind>
using ChannelOf = decltype(Kind::make(std::declval<Thread&>(), kSmallest));

struct Tally {
  std::uint64_t answers = 0;
  std::uint64_t refused = 0;
};
Tally& tally() {
  static support::PerProcess<Tally> own;
  return *own;
}

struct CallingBackAnswer {
  std::uint64_t number;
  std::uint64_t part;
  void operator()() const { ++tally().answers; }
};

/// Answers each question by three calls to the thread that is `steps` further than its own, with
/// nobody looking at what they answer but the test.
template <class Channel>
struct CallingBackQuestion {
  std::uint64_t number;
  ThreadId to;
  void operator()(CallContext&) const {
    for (std::uint64_t part = 0; part < 3; ++part) {
      const CallStatus status = my_channel<Channel>()->call(to, CallingBackAnswer{number, part});
      tally().refused += status != CallStatus::kAccepted;
    }
  }
};

enum class Run { kInline, kFibers };

/// All workers flood their neighbour with questions; it sends its answers `distance` further.
template <class Kind>
std::string flood(std::uint32_t processes, std::int64_t distance, Run how,
                  std::uint64_t questions) {
  using Channel = ChannelOf<Kind>;
  support::ForkJob job(processes, [&](support::Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    fabric.run([&](Thread& self) {
      const riutils::FiberPool pool(self, kDefaultFibers);
      Channel channel = Kind::make(self, kSmallest);
      my_channel<Channel>() = &channel;
      self.barrier();
      const ThreadId to = self.neighbour(1);
      for (std::uint64_t i = 0; i < questions; ++i) {
        const CallingBackQuestion<Channel> question{i, self.neighbour(1 + distance)};
        require(
            how == Run::kInline ? channel.call(to, question) : channel.call(to, in_fiber(question)),
            "asked");
      }
      riutils::wait_for_termination(self);
      require_equal(tally().refused, 0u, "answers refused");
      require_equal(tally().answers, 3 * questions, "answers");
      self.barrier();
    });
  });
  return job.wait(std::chrono::seconds(50));
}

}  // namespace

TEMPLATE_TEST_CASE("workers_that_answer_each_other_lose_nothing_in_the_smallest_ring", "", Single,
                   Gathered, Overflow) {
  CHECK(flood<TestType>(2, -1, Run::kInline, 400) == "");
  CHECK(flood<TestType>(2, -1, Run::kFibers, 200) == "");
}

TEMPLATE_TEST_CASE("a_circle_of_workers_that_pass_calls_on_does_not_block", "", Single, Gathered) {
  CHECK(flood<TestType>(3, 1, Run::kInline, 250) == "");
  CHECK(flood<TestType>(3, 1, Run::kFibers, 120) == "");
}

TEST_CASE("a_worker_holds_little_for_one_that_does_not_look") {
  using dtutils::Clock;
  constexpr std::uint64_t kQuestions = 300'000;
  static support::PerProcess<std::uint64_t> answers;
  support::ForkJob job(2, [&](support::Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    fabric.run([&](Thread& self) {
      // Large enough for all questions, so that the one who asks need not look meanwhile.
      const RingOptions large{4u << 20, 2, 2, 0};
      RDMAAggregator channel(self, {.ring = self.id().process.value == 0 ? large : RingOptions()});
      my_channel<RDMAAggregator>() = &channel;
      channel.setup(self.neighbour(1));
      self.barrier();
      std::chrono::duration<double> deaf{};
      if (self.id().process.value == 0) {
        const auto begin = Clock::now();
        for (std::uint64_t i = 0; i < kQuestions; ++i) {
          require(channel.call(self.neighbour(1),
                               [](CallContext& call) {
                                 const auto answer = [two = std::array{1, 1, 1, -2}] {
                                   *answers += static_cast<std::uint64_t>(two[0]);
                                 };
                                 require(my_channel<RDMAAggregator>()->call(call.source, answer),
                                         "answered");
                               }),
                  "asked");
        }
        (void)channel.flush();
        while (Clock::now() - begin < std::chrono::milliseconds(20)) {
        }
        deaf = Clock::now() - begin;
      }
      const double seconds =
          self.all_reduce(deaf.count(), [](double a, double b) { return a + b; });
      riutils::wait_for_termination(self);
      require_equal(self.all_reduce(*answers), kQuestions, "answers");
      if (self.id().process.value == 1) {
        // Bytes that one poll makes: twice those of its questions, to be safe; and a chunk or two.
        const double bound =
            std::sqrt(2 * 32e3 * 1e9 * seconds) + 128e3 + RingOptions().queue_limit;
        const auto outgoing = channel.ring_set().counters().outgoing;
        require(outgoing.size() == 1 && static_cast<double>(outgoing[0].max_queued) < bound,
                "held more than promised");
        require(bound < 0.75 * 16 * kQuestions || seconds > 0.05, "a bound that says something");
      }
    });
  });
  CHECK(job.wait(std::chrono::seconds(50)) == "");
}
