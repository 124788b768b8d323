// SPDX-License-Identifier: MIT
// Barrier, all-gather, all-reduce and broadcast over processes and threads.
#include "dsfabric/support/message_job.hpp"
#include "dtutils/joinable_thread.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::Counter;
using support::ForkJob;
using support::in_counting_job;
using support::Member;
using support::require;
using support::require_equal;
using support::send;

namespace {

struct Large {
  std::uint64_t numbers[25];
};

void everything(Member& member, std::uint32_t threads) {
  Config config;
  // One process has a worker more than the others.
  config.threads = threads + (member.rank == 1);
  Fabric fabric = member.join(config);
  fabric.run([&](Thread& self) {
    const std::uint32_t total = fabric.total_threads();
    const std::uint32_t rank = fabric.rank_of(self.id());
    require_equal(fabric.max_threads(), threads + (fabric.processes() > 1), "workers of one");
    for (std::uint32_t round = 0; round < 20; ++round) {
      const auto all = self.all_gather(rank * 100 + round);
      require_equal(all.size(), total, "values");
      for (std::uint32_t i = 0; i < total; ++i) {
        require_equal(all[i], i * 100 + round, "value of a thread");
      }
      require_equal(self.all_reduce(rank), total * (total - 1) / 2, "sum");
      require_equal(self.all_reduce(rank, [](auto a, auto b) { return std::max(a, b); }), total - 1,
                    "maximum");
      const ThreadId root = fabric.thread_of_rank(round % total);
      Large large{};
      for (std::uint64_t& number : large.numbers) number = rank * 1000 + round;
      const Large got = self.broadcast(large, root);
      for (const std::uint64_t number : got.numbers) {
        require_equal(number, fabric.rank_of(root) * 1000 + round, "word of the root");
      }
    }
  });
}

}  // namespace

TEST_CASE("collectives_of_two_processes") {
  ForkJob job(2, [](Member& member) { everything(member, 1); });
  CHECK(job.wait() == "");
}

TEST_CASE("collectives_of_five_processes_with_several_workers") {
  ForkJob job(5, [](Member& member) { everything(member, 2); });
  CHECK(job.wait(std::chrono::seconds(50)) == "");
}

TEST_CASE("nobody_passes_a_barrier_before_all_have_come") {
  ForkJob job(3, [](Member& member) {
    Config config;
    config.threads = 2;
    Fabric fabric = member.join(config);
    std::atomic<std::uint64_t>& come = member.memory.words[0];
    fabric.run([&](Thread& self) {
      for (std::uint64_t round = 1; round <= 200; ++round) {
        come.fetch_add(1);
        self.barrier();
        require(come.load() >= round * 6, "all have come");
        self.barrier();
        require(come.load() == round * 6, "nobody has come again");
        self.barrier();
      }
    });
  });
  CHECK(job.wait(std::chrono::seconds(50)) == "");
}

TEST_CASE("a_barrier_serves_incoming_messages") {
  Config config;
  config.threads = 1;
  config.service_threads = 0;
  in_counting_job(2, config, [](Member& member, Fabric& fabric, Counter& counter) {
    fabric.run([&](Thread& self) {
      if (member.rank == 0) {
        require(send(fabric, {{1}, 0}, 0), "it lives");
        // Process 1 waits in its barrier meanwhile.
        while (member.memory.words[1] == 0) dtutils::give_way();
        self.barrier();
      } else {
        dtutils::JoinableThread watch([&] {
          require(support::eventually([&] { return counter.received == 1; }),
                  "served in the barrier");
          member.memory.words[1] = 1;
        });
        self.barrier();
        watch.join();
      }
    });
  });
}
