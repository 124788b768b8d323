// SPDX-License-Identifier: MIT
// Collectives of more processes than one round of writes reaches.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "dsfabric/support/fabric_job.hpp"

using dsfabric::Thread;
using dsfabric::ThreadId;
using support::FabricJob;
using support::in_every_mode;
using support::require;
using support::require_equal;

namespace {

/// Longer than one gathering carries, so that it goes in parts.
using Value = std::array<std::uint64_t, 10>;

void gather_and_meet(Thread& self) {
  const std::uint32_t mine = self.fabric().rank_of(self.id());
  const std::uint32_t total = self.fabric().total_threads();
  for (std::uint64_t round = 1; round <= 6; ++round) {
    Value value;
    value.fill(round * 1000 + mine);
    const std::vector<Value> all = self.all_gather(value);
    for (std::uint32_t rank = 0; rank < total; ++rank) {
      for (const std::uint64_t word : all[rank]) {
        require_equal(word, round * 1000 + rank, "what that worker gave");
      }
    }
    self.barrier();
    const ThreadId root = self.fabric().thread_of_rank(static_cast<std::uint32_t>(round % total));
    require_equal(self.broadcast(mine, root), round % total, "what the root gave");
  }
}

}  // namespace

TEST_CASE("collectives_of_nineteen_processes_take_two_rounds") {
  in_every_mode({.processes = 19, .threads = 1}, gather_and_meet);
}

TEST_CASE("barrier_of_nineteen_processes_waits_for_each") {
  // One after the other is late: nobody may be through before it has come.
  support::ForkJob job(19, [](support::Member& member) {
    dsfabric::Config config;
    config.threads = 1;
    dsfabric::Fabric fabric = member.join(config);
    std::atomic<std::uint64_t>& late = member.memory.words[0];
    fabric.run([&](Thread& self) {
      for (std::uint32_t who = 0; who < 19; ++who) {
        if (self.id().process.value == who) {
          for (int i = 0; i < 50; ++i) std::this_thread::yield();
          late.store(who + 1);
        }
        self.barrier();
        require(late.load() >= who + 1, "the late one has come");
        self.barrier();
      }
    });
  });
  CHECK(job.wait(std::chrono::seconds(50)) == "");
}
