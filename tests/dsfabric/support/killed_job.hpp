// SPDX-License-Identifier: MIT
// Jobs of which one process is killed at a moment that the others choose.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "dsfabric/support/fabric_job.hpp"
#include "dsfabric/support/fork_job.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

namespace support {

/// Now the victim may be killed. Any member, any time.
inline void end_victim(JobMemory& memory) { memory.words[15] = 1; }
inline bool victim_may_end(const JobMemory& memory) { return memory.words[15] == 1; }
/// Once a job: returns when all have come. A death shortly afterwards breaks no collective.
inline void meet(Member& member, dsfabric::Thread& self) {
  std::atomic<std::uint64_t>& come = member.memory.words[14];
  ++come;
  serve_until(self, [&] { return come == member.size; });
}
/// What a victim does that takes part in nothing any more.
[[noreturn]] inline void serve_nothing() {
  for (;;) dtutils::sleep_for(std::chrono::seconds(1));
}

/// Runs `work` on one worker a process, and kills `victim` after end_victim. The work of all others
/// must come to its end; the end of run() is a collective, which the death breaks. Returns how the
/// processes ended.
inline std::string run_and_kill(std::uint32_t processes, std::uint32_t victim,
                                const std::function<void(Member&, dsfabric::Thread&)>& work) {
  ForkJob job(processes, [&](Member& member) {
    dsfabric::Config config;
    config.threads = 1;
    dsfabric::Fabric fabric = member.join(config);
    bool ended = false;
    try {
      fabric.run([&](dsfabric::Thread& self) {
        work(member, self);
        ended = true;
      });
    } catch (const dsfabric::PeerFailed& failure) {
      require(ended || member.rank == victim, failure.what());
    }
  });
  CHECK(eventually([&] { return victim_may_end(job.memory()); }, std::chrono::seconds(20)));
  job.kill(victim);
  return job.wait();
}

}  // namespace support
