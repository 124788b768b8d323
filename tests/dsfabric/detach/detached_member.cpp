// SPDX-License-Identifier: MIT
// detached_member FOLDER: a member of an elastic job that stays until FOLDER/leave-NUMBER is there
// or the job has ended, for a minute at most.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/wait.hpp"

int main(int argc, char** argv) try {
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  const std::string folder = argv[1];
  const std::uint32_t self = fabric.process().value;
  fmt::print("member {} has come\n", self);
  std::fflush(stdout);
  fabric.run([&](dsfabric::Thread& worker) {
    const std::string leave = fmt::format("{}/leave-{}", folder, self);
    dtutils::Deadline deadline(std::chrono::minutes(1));
    while (!deadline.passed() && !std::filesystem::exists(leave) &&
           !fabric.failed(fabric.process())) {
      worker.progress();
      dtutils::sleep_for(std::chrono::milliseconds(5));
    }
  });
  fmt::print("member {} leaves\n", self);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "detached_member: {}\n", error.what());
  return 1;
}
