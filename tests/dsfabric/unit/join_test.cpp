// SPDX-License-Identifier: MIT
// What processes know of each other after they have joined, and what joining refuses.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dsfabric/send_channel.hpp"
#include "dsfabric/support/fork_job.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

TEST_CASE("a_process_alone_is_a_whole_job") {
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 2;
    Fabric fabric = member.join(config);
    require_equal(fabric.processes(), 1u, "processes");
    std::atomic<int> ran{0};
    fabric.run([&](Thread& self) {
      require(self.neighbour(1).index == 1 - self.id().index, "the other worker is the neighbour");
      self.barrier();
      ++ran;
    });
    require_equal(ran.load(), 2, "workers that ran");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("run_inside_of_run_is_refused") {
  ForkJob job(1, [](Member& member) {
    Config config;
    config.threads = 2;
    Fabric fabric = member.join(config);
    for (int i = 0; i < 2; ++i) {
      std::atomic<int> refused{0};
      fabric.run([&](Thread&) {
        const auto nested = [&] { fabric.run([](Thread&) {}); };
        if (support::error_text(nested).find("has not returned yet") != std::string::npos)
          ++refused;
      });
      require_equal(refused.load(), 2, "workers that were refused, and run() works on");
    }
  });
  CHECK(job.wait() == "");
}

TEST_CASE("processes_know_who_is_where") {
  ForkJob job(3, [](Member& member) {
    Config config;
    config.threads = member.rank + 1;
    Fabric fabric = member.join(config);
    require_equal(fabric.process().value, member.rank, "own rank");
    require_equal(fabric.total_threads(), 6u, "threads in total");
    require_equal(fabric.machines(), 1u, "machines");
    require_equal(fabric.threads_on({0}).size(), 6u, "threads on the machine");
    for (std::uint32_t rank = 0; rank < 6; ++rank) {
      const ThreadId thread = fabric.thread_of_rank(rank);
      require(fabric.exists(thread), "a thread of each rank exists");
      require_equal(fabric.rank_of(thread), rank, "rank of the thread of a rank");
    }
    require(fabric.thread_of_rank(2) == ThreadId{{1}, 1}, "rank 2 is thread 1 of process 1");
    require(!fabric.exists({{1}, 2}) && !fabric.exists({{3}, 0}), "no others exist");
    const std::size_t in_zones = fabric.threads_in({0}, fabric.zone_of({{0}, 0})).size();
    require(in_zones >= 1, "the zone of a worker has it");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("each_of_a_few_workers_has_queue_pairs_of_its_own") {
  for (const std::uint32_t wanted : {0u, 2u}) {
    CAPTURE(wanted);
    ForkJob job(2, [&](Member& member) {
      Config config;
      config.threads = member.rank == 0 ? 1 : 6;
      config.queue_pairs = wanted;
      Fabric fabric = member.join(config);
      std::vector<dtutils::Transmitter*> used(config.threads);
      fabric.run([&](Thread& self) {
        used[self.id().index] = &self.transmitter({0});
        self.barrier();
      });
      const std::set<dtutils::Transmitter*> different(used.begin(), used.end());
      const std::size_t pairs = wanted == 0 ? 4 : wanted;
      require_equal(different.size(), member.rank == 0 ? 1 : pairs, "Transmitters to a process");
      for (std::size_t i = pairs; i < used.size(); ++i) {
        require(used[i] == used[i - pairs], "worker i uses number i modulo their count");
      }
    });
    CHECK(job.wait() == "");
  }
}

TEST_CASE("different_receive_sizes_are_refused_by_name") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.receive_size = member.rank == 0 ? 4096 : 8192;
    const std::string text = support::error_text([&] { member.join(config); });
    require(text.find("receive_size") != std::string::npos, text);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("different_numbers_of_connections_are_refused_by_name") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.max_connections = member.rank + 1;
    const std::string text = support::error_text([&] { member.join(config); });
    require(text.find("max_connections") != std::string::npos, text);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_receive_size_that_cannot_be_is_refused") {
  ForkJob job(1, [](Member& member) {
    Config config;
    config.receive_size = 100;
    const std::string text = support::error_text([&] { member.join(config); });
    require(text.find("receive_size") != std::string::npos, text);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("limits_and_times_may_be_without_end") {
  ForkJob job(1, [](Member&) {
    Config config;
    config.device = "shm";
    config.pin = false;
    config.threads = 2;
    config.receive_limit = SIZE_MAX;
    config.start_timeout = config.leave_timeout = std::chrono::milliseconds::max();
    config.watch_interval = std::chrono::milliseconds::max();
    Fabric fabric = join(config);
    static std::atomic<int> ran{0};
    fabric.run([&](Thread& self) {
      SendChannel calls(self.fabric());
      const auto slow = [] {
        dtutils::sleep_for(std::chrono::milliseconds(5));
        ++ran;
      };
      for (int i = 0; i < 3; ++i) require(calls.call(self.neighbour(1), slow), "the call is sent");
    });
    require_equal(ran.load(), 6, "calls that run() has waited for");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("an_orderly_end_is_no_failure") {
  ForkJob job(3, [](Member& member) {
    Config config;
    config.threads = 1;
    std::atomic<int> upcalls{0};
    {
      Fabric fabric = member.join(config);
      fabric.on_failure([&](ProcessId, const std::string&) { ++upcalls; });
      // They end one after the other.
      std::this_thread::sleep_for(std::chrono::milliseconds(80 * member.rank));
    }
    require_equal(upcalls.load(), 0, "upcalls");
  });
  CHECK(job.wait() == "");
}

TEST_CASE("run_can_be_called_again") {
  ForkJob job(2, [](Member& member) {
    Config config;
    config.threads = 2;
    Fabric fabric = member.join(config);
    for (int i = 0; i < 3; ++i) {
      fabric.run([&](Thread& self) {
        require_equal(self.all_reduce(1), 4, "workers");
        self.barrier();
      });
    }
  });
  CHECK(job.wait() == "");
}
