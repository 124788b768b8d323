// SPDX-License-Identifier: MIT
// Connections on first use: who connects with whom, whoever begins, and what others see of it.
#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "dsfabric/support/fabric_job.hpp"
#include "dsfabric/support/fork_job.hpp"
#include "dsfabric/support/word_memory.hpp"
#include "dtutils/joinable_thread.hpp"
#include "support/catch.hpp"
#include "support/per_process.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::eventually;
using support::FabricJob;
using support::ForkJob;
using support::in_every_mode;
using support::Member;
using support::require;
using support::require_equal;
using support::WordMemory;

namespace {

std::uint32_t connected_processes(const Fabric& fabric) {
  std::uint32_t count = 0;
  for (std::uint16_t i = 0; i < fabric.processes(); ++i) count += fabric.connected({i});
  return count;
}

}  // namespace

TEST_CASE("join_connects_with_nobody_and_the_first_use_with_one") {
  ForkJob job(4, [](Member& member) {
    Fabric fabric = member.join();
    require_equal(connected_processes(fabric), 1u, "processes: itself");
    WordMemory words(fabric);
    require_equal(connected_processes(fabric), 1u, "an exchange connects with nobody");
    support::meet(member, fabric, 1);
    if (member.rank == 0) {
      require(words.write({1}, 7), "written");
      require(fabric.connected({1}), "to where it was written");
      require_equal(connected_processes(fabric), 2u, "processes");
    }
    support::meet(member, fabric, 0);
    if (member.rank == 1) {
      require_equal(words.own(0), std::uint64_t{7}, "what was written");
      require(eventually([&] { return fabric.connected({0}); }), "the other side, too");
    }
    require_equal(connected_processes(fabric), member.rank < 2 ? 2u : 1u, "processes");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("jobs_without_letters_connect_when_they_join") {
  ForkJob job(
      3,
      [](Member& member) {
        Fabric fabric = member.join();
        require_equal(connected_processes(fabric), 3u, "processes");
        WordMemory words(fabric);
        const auto next = static_cast<std::uint16_t>((member.rank + 1) % 3);
        require(words.write({next}, 5), "written");
        support::meet(member, fabric, 0);
        require_equal(words.own((member.rank + 2) % 3), std::uint64_t{5}, "what was written");
        fabric.run([](Thread& self) { self.barrier(); });
      },
      ForkJob::Letters::kNo);
  CHECK(job.wait() == "");
}

TEST_CASE("processes_that_connect_with_each_other_at_once_connect_once") {
  for (int round = 0; round < 20; ++round) {
    ForkJob job(2, [](Member& member) {
      Fabric fabric = member.join();
      WordMemory words(fabric);
      support::meet(member, fabric, 0);
      const auto peer = static_cast<std::uint16_t>(1 - member.rank);
      require(words.write({peer}, member.rank + 1), "written");
      support::meet(member, fabric, 1);
      require_equal(words.own(peer), peer + std::uint64_t{1}, "what was written");
    });
    REQUIRE(job.wait() == "");
  }
}

TEST_CASE("all_threads_of_all_processes_may_begin_at_once") {
  ForkJob job(8, [](Member& member) {
    Config config;
    config.threads = 2;
    Fabric fabric = member.join(config);
    WordMemory words(fabric);
    support::meet(member, fabric, 0);
    const auto to_all = [&] {
      for (std::uint16_t i = 0; i < member.size; ++i) {
        const auto to = static_cast<std::uint16_t>((member.rank + i) % member.size);
        require(words.write({to}, 9), "written");
      }
    };
    std::vector<dtutils::JoinableThread> threads;
    std::atomic<int> done{0};
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        to_all();
        ++done;
      });
    }
    for (dtutils::JoinableThread& thread : threads) thread.join();
    require_equal(done.load(), 4, "threads");
    support::meet(member, fabric, 1);
    for (std::uint32_t from = 0; from < member.size; ++from) {
      require_equal(words.own(from), std::uint64_t{9}, "what was written");
    }
    require_equal(connected_processes(fabric), 8u, "processes");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("calls_to_all_at_once_run_once_in_every_mode") {
  in_every_mode({.processes = 6, .threads = 2, .queue_pairs = 2}, [](Thread& self) {
    SendChannel calls(self.fabric());
    static support::PerProcess<std::atomic<std::uint32_t>> ran;
    *ran = 0;
    self.barrier();
    const std::uint32_t all = self.fabric().total_threads();
    for (std::uint32_t rank = 0; rank < all; ++rank) {
      require(
          calls.call(self.fabric().thread_of_rank(rank), [] { ++*ran; }) == CallStatus::kAccepted,
          "accepted");
    }
    wait_for_termination(self);
    require_equal(ran->load(), all * self.fabric().info(self.fabric().process()).threads, "calls");
  });
}

TEST_CASE("process_whose_workers_compute_answers") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 1;
    config.service_threads = 0;
    Fabric fabric = member.join(config);
    WordMemory words(fabric);
    if (member.rank == 1) {
      // It makes no progress at all until the other one is through.
      require(eventually([&] { return member.memory.words[0] == 1; }), "the other is through");
      require_equal(words.own(0), std::uint64_t{3}, "what was written");
    } else {
      require(words.write({1}, 3), "written");
      member.memory.words[0] = 1;
    }
  });
  CHECK(job.wait() == "");
}

TEST_CASE("process_that_is_in_a_collective_of_the_bootstrap_answers") {
  ForkJob job(2, [](Member& member) {
    Fabric fabric = member.join();
    WordMemory words(fabric);
    if (member.rank == 0) require(words.write({1}, 4), "written before this one comes");
    (void)fabric.exchange({});
    if (member.rank == 1) require_equal(words.own(0), std::uint64_t{4}, "what was written");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("handler_may_be_the_first_to_use_a_process") {
  ForkJob job(3, [](Member& member) {
    Fabric fabric = member.join();
    static support::PerProcess<std::atomic<int>> ran;
    *ran = 0;
    SendChannel calls(fabric);
    support::meet(member, fabric, 0);
    if (member.rank == 0) {
      // 0 -> 1 -> 2, which nobody has used.
      const auto pass_on = [](CallContext& call) {
        SendChannel further(call.fabric);
        require(further.call(ThreadId::service_of({2}), [] { ++*ran; }) == CallStatus::kAccepted,
                "passed on");
      };
      require(calls.call(ThreadId::service_of({1}), pass_on) == CallStatus::kAccepted, "accepted");
    }
    if (member.rank == 2) require(eventually([&] { return *ran == 1; }), "it ran");
    support::meet(member, fabric, 1);
    require(fabric.connected({0}) == (member.rank != 2), "who is connected with the first");
  });
  CHECK(job.wait() == "");
}
