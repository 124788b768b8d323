// SPDX-License-Identifier: MIT
// From the command line to the end of the job: the launcher and the first program, hello.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "bench/dsfabric/cases.hpp"

namespace fabric_bench {
namespace {

/// The benches lie in <build>/bench.
std::filesystem::path built(const char* path) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / path;
}

double start(bench::Batch& batch, std::uint32_t processes) {
  const auto launcher = built("apps/run/cariama-run");
  const auto hello = built("apps/tutorial/hello");
  if (!std::filesystem::exists(launcher) || !std::filesystem::exists(hello)) {
    throw bench::Skip("apps/run and apps/tutorial are not built");
  }
  // The bench is pinned to one core; the job may use all of them.
  std::string cores;
  for (const int core : batch.channel().cores()) {
    cores += fmt::format("{}{}", cores.empty() ? "" : ",", core);
  }
  const std::string command =
      fmt::format("taskset -c {} '{}' -n {} -t 1 '{}' --cariama-device=shm >/dev/null", cores,
                  launcher.string(), processes, hello.string());
  return batch.ns_each([&] {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
    }
  });
}

}  // namespace

void add_start_cases(bench::Suite& suite) {
  for (const auto& [processes, bar] : {std::pair{2u, "<= 5e8"}, std::pair{16u, "<= 3e9"}}) {
    suite.add(
        {.name = "start_to_end",
         .size = processes,
         .variants = {{.name = "hello",
                       .measure = [processes = processes](
                                      bench::Batch& batch) { return start(batch, processes); },
                       .bar = bar}},
         .oversubscribed = true,
         .max_iterations = 1});
  }
}

}  // namespace fabric_bench
