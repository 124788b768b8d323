// SPDX-License-Identifier: MIT
// A wait ends when what it waits for has happened, however many messages come meanwhile.
#include <chrono>

#include "dsfabric/support/fork_job.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::ForkJob;
using support::Member;
using support::require;

namespace {

constexpr int kReads = 6;
/// For one read.
constexpr std::chrono::milliseconds kReadLimit{1500};

/// A call that takes longer to run than to send.
void take_time() {
  const auto end = dtutils::Clock::now() + std::chrono::microseconds(200);
  while (dtutils::Clock::now() < end) dtutils::cpu_pause();
}

}  // namespace

TEST_CASE("read_of_a_worker_completes_while_calls_come_without_a_pause") {
  ForkJob job(4, [](Member& member) {
    Config config;
    config.threads = 1;
    Fabric fabric = member.join(config);
    fabric.run([&](Thread& self) {
      const ThreadId reads = fabric.thread_of_rank(0);
      // Nothing else than the read uses the connection of a process to itself.
      const RemoteMemory own = fabric.allocate_near(self.id(), 64);
      self.barrier();
      auto& is_over = member.memory.words[0];
      if (member.rank != 0) {
        SendChannel calls(fabric);
        const auto end = dtutils::Clock::now() + (kReads + 2) * kReadLimit;
        while (is_over == 0 && dtutils::Clock::now() < end) {
          require(calls.call(reads, [] { take_time(); }), "sent");
        }
        return;
      }
      const auto local = self.allocator().allocate();
      for (int i = 0; i < kReads; ++i) {
        dtutils::Synchronizer arrived(1);
        require(self.transmitter(self.id().process)
                    .read(local.local(0, 8), own.locator().part(0, 8), arrived),
                "posted");
        require(arrived.wait_for(kReadLimit) == dtutils::Synchronizer::Outcome::kDone,
                "it completes while calls still come");
      }
      is_over = 1;
    });
  });
  CHECK(job.wait() == "");
}
