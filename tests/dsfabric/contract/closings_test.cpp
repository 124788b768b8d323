// SPDX-License-Identifier: MIT
// Jobs that have more processes than a process may have connections.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "dsfabric/support/fork_job.hpp"
#include "dsfabric/support/word_memory.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/per_process.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::eventually;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;
using support::WordMemory;

namespace {

constexpr std::uint32_t kMostSenders = 8;

/// What has come here, by sender.
struct CallsFrom {
  std::array<std::atomic<std::uint32_t>, kMostSenders> last{};
  std::atomic<std::uint32_t> wrong{0};

  void note(std::uint32_t from, std::uint32_t number) {
    if (last.at(from).exchange(number) != number - 1) ++wrong;
  }
};
support::PerProcess<CallsFrom> came_here;

/// Carried by calls that do not fit into the send queue.
struct LargeCapture {
  std::array<std::uint32_t, 200> words{};
};

Config with_connections(std::uint32_t connections) {
  Config config;
  config.threads = 1;
  config.queue_pairs = 2;
  config.max_connections = connections;
  return config;
}

bool settles(const Fabric& fabric, std::uint32_t connections) {
  return eventually([&] { return fabric.connections() <= connections; });
}

/// The first three processes have come to the same point.
void meet_survivors(Member& member, Fabric& fabric, std::size_t word) {
  Member survivor{member.rank, 3, member.memory, member.wakes};
  support::meet(survivor, fabric, word);
}

/// Calls of the worker to all others, `rounds` times, the first of them numbered 1.
void call_all(Thread& self, std::uint32_t rounds) {
  Fabric& fabric = self.fabric();
  SendChannel calls(fabric);
  const std::uint32_t own = self.id().process.value;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::uint32_t distance = 1; distance < fabric.processes(); ++distance) {
      const ThreadId to = self.neighbour(distance);
      const std::uint32_t number = 3 * round + 1;
      LargeCapture much;
      much.words.back() = number + 1;
      ReturnSlot<std::uint32_t> answer(fabric);
      require(
          calls.call(to, [own, number] { came_here->note(own, number); }) == CallStatus::kAccepted,
          "a small call");
      require(calls.call(to, [own, much] { came_here->note(own, much.words.back()); }) ==
                  CallStatus::kAccepted,
              "a large call");
      const auto ask = [own, number] {
        came_here->note(own, number + 2);
        return number;
      };
      require(calls.call_return(to, ask, answer) == CallStatus::kAccepted, "a call with a result");
      require_equal(answer.get(), number, "its result");
    }
  }
}

}  // namespace

TEST_CASE("calls_of_all_to_all_run_once_and_in_order_with_few_connections") {
  const auto limit = GENERATE(1u, 2u);
  constexpr std::uint32_t kRounds = 3;
  ForkJob job(6, [limit](Member& member) {
    Fabric fabric = member.join(with_connections(limit));
    fabric.run([](Thread& self) {
      call_all(self, kRounds);
      self.barrier();
    });
    require_equal(came_here->wrong.load(), 0u, "calls out of order");
    for (std::uint32_t from = 0; from < member.size; ++from) {
      const std::uint32_t wanted = from == member.rank ? 0 : 3 * kRounds;
      require_equal(came_here->last.at(from).load(), wanted, "calls that came");
    }
    require(settles(fabric, limit), "few connections are left");
    support::meet(member, fabric, 0);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("connections_that_were_handed_out_are_not_closed") {
  ForkJob job(4, [](Member& member) {
    Fabric fabric = member.join(with_connections(1));
    WordMemory words(fabric);
    support::meet(member, fabric, 0);
    if (member.rank == 0) {
      for (std::uint16_t to = 1; to < member.size; ++to) require(words.write({to}, 1), "written");
    }
    support::meet(member, fabric, 1);
    // What the others would close to have one, this one keeps.
    SendChannel calls(fabric);
    const std::uint32_t rank = member.rank;
    for (int round = 0; member.rank != 0 && round < 3; ++round) {
      for (std::uint16_t to = 1; to < member.size; ++to) {
        const ThreadId there = ThreadId::service_of({to});
        require(calls.call(there, [rank] { ++came_here->last.at(rank); }) == CallStatus::kAccepted,
                "accepted");
      }
    }
    // The first one keeps all of them. Each of the others asks it again when it has too many.
    require(eventually([&] {
              return member.rank == 0 || (fabric.connected({0}) && fabric.connections() == 1);
            }),
            "only what was handed out is left");
    support::meet(member, fabric, 2);
    if (member.rank == 0) {
      require_equal(fabric.connections(), 3u, "all that were handed out");
      for (std::uint16_t to = 1; to < member.size; ++to) require(words.write({to}, 2), "written");
    } else {
      require(eventually([&] { return words.own(0) == 2; }), "what was written");
      for (std::uint32_t from = 1; from < member.size; ++from) {
        require(eventually([&] { return came_here->last.at(from) == 3; }), "calls ran");
      }
    }
    support::meet(member, fabric, 3);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("process_that_dies_while_connections_are_closed_fails_alone") {
  ForkJob job(4, [](Member& member) {
    Fabric fabric = member.join(with_connections(1));
    SendChannel calls(fabric);
    support::meet(member, fabric, 0);
    const std::uint32_t rank = member.rank;
    // How many calls each of the others has accepted.
    std::array<std::uint32_t, kMostSenders> sent{};
    for (std::uint32_t round = 1; round <= 12 || !fabric.failed({3}); ++round) {
      if (rank == 3 && round == 6) member.die();
      for (std::uint16_t to = 0; to < member.size; ++to) {
        if (to == rank) continue;
        const CallStatus status =
            calls.call(ThreadId::service_of({to}), [rank] { ++came_here->last.at(rank); });
        if (status == CallStatus::kAccepted) ++sent.at(to);
        require(status == CallStatus::kAccepted || to == 3, "nobody else fails");
      }
    }
    for (std::uint16_t to = 0; to < 3; ++to) {
      member.memory.words[4 + 3 * rank + to] = sent.at(to);
    }
    meet_survivors(member, fabric, 1);
    for (std::uint16_t from = 0; from < 3; ++from) {
      const std::uint64_t wanted = member.memory.words[4 + 3 * from + rank];
      require(eventually([&] { return came_here->last.at(from) == wanted; }), "calls ran");
      require(!fabric.failed({from}), "nobody else has failed");
    }
    require(settles(fabric, 1), "few connections are left");
    meet_survivors(member, fabric, 2);
  });
  CHECK(job.wait() == "3: signal 9\n");
}
