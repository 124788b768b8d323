// SPDX-License-Identifier: MIT
// Jobs of several processes whose workers all do the same, in every mode of the shm device.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>

#include "dsfabric/dsfabric.hpp"
#include "dsfabric/support/fork_job.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"

namespace support {

/// Makes progress until `done`, or fails before the limit of any job is over.
inline void serve_until(dsfabric::Thread& self, const std::function<bool()>& done) {
  dtutils::Deadline deadline(std::chrono::seconds(25));
  dtutils::Backoff backoff;
  while (!done()) {
    require(!deadline.passed(), "what was awaited did not come");
    self.progress() ? backoff.reset() : backoff.pause();
  }
}

struct FabricJob {
  std::uint32_t processes = 2;
  std::uint32_t threads = 1;
  std::uint32_t service_threads = 1;
  std::chrono::seconds limit{50};
  std::uint32_t runs = 1;
  std::uint32_t queue_pairs = dsfabric::Config{}.queue_pairs;
};

/// Runs `work` on every worker; `adversary` 0: none, else its seed.
inline std::string run_job(const FabricJob& job, std::uint64_t adversary,
                           const std::function<void(dsfabric::Thread&)>& work) {
  ForkJob fork_job(job.processes, [&](Member& member) {
    if (adversary != 0) {
      setenv("CARIAMA_SHM_ADVERSARY", std::to_string(adversary).c_str(), 1);
    } else {
      unsetenv("CARIAMA_SHM_ADVERSARY");
    }
    dsfabric::Config config;
    config.threads = job.threads;
    config.service_threads = job.service_threads;
    config.queue_pairs = job.queue_pairs;
    dsfabric::Fabric fabric = member.join(config);
    for (std::uint32_t i = 0; i < job.runs; ++i) fabric.run(work);
  });
  return fork_job.wait(job.limit);
}

/// As the device is, and under the adversary; in a simulation once, which is always as bad.
inline void in_every_mode(const FabricJob& job,
                          const std::function<void(dsfabric::Thread&)>& work) {
  const std::uint64_t seed = test_seed() | 1;
  for (const bool adversary : {false, true}) {
    if (adversary && on_simulated_device()) continue;
    INFO((adversary ? "adversary, seed " : "no adversary, seed ") << seed);
    CHECK(run_job(job, adversary ? seed : 0, work) == "");
  }
}

}  // namespace support
