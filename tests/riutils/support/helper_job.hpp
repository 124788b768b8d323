// SPDX-License-Identifier: MIT
// Jobs whose processes have helper threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "riutils/helper_threads.hpp"
#include "riutils/support/handler_job.hpp"

namespace support {

/// Runs `work` on workers who may delegate to `helper_threads` in each process.
inline std::string run_helper_job(
    std::uint32_t processes, std::uint32_t threads, std::uint32_t helper_threads,
    const std::function<void(dsfabric::Thread&, riutils::HelperThreads&)>& work) {
  ForkJob job(processes, [&](Member& member) {
    dsfabric::Config config;
    config.threads = threads;
    dsfabric::Fabric fabric = member.join(config);
    riutils::HelperOptions options;
    options.threads = helper_threads;
    riutils::HelperThreads helpers(fabric, options);
    fabric.run([&](dsfabric::Thread& self) {
      work(self, helpers);
      self.barrier();
    });
  });
  return job.wait(std::chrono::seconds(50));
}

}  // namespace support
