// SPDX-License-Identifier: MIT
// A launcher behind a pipe.
#include "bench/fabric/launched_job.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace fabric_bench {
namespace {

constexpr std::uint32_t kMostInSmoke = 64;

/// The benches lie in <build>/bench.
std::filesystem::path built(const std::string& path) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / path;
}

}  // namespace

std::string run_job(bench::Batch& batch, const LaunchedJob& job) {
  if (batch.smoke() && job.processes > kMostInSmoke) throw bench::Skip("it takes long");
  const auto launcher = built("apps/run/cariama-run");
  const auto path = built(job.program);
  if (!std::filesystem::exists(launcher) || !std::filesystem::exists(path)) {
    throw bench::Skip(fmt::format("apps/run and {} are not built", job.program));
  }
  // The bench is pinned to one core; the job may use all of them.
  std::string cores;
  for (const int core : batch.channel().cores()) {
    cores += fmt::format("{}{}", cores.empty() ? "" : ",", core);
  }
  const std::string command =
      fmt::format("taskset -c {} '{}' -n {} -t 1 {} '{}' {} --cariama-device=shm{}", cores,
                  launcher.string(), job.processes, job.with_deaths ? "--keep-going" : "",
                  path.string(), job.argument, job.with_deaths ? " 2>/dev/null" : "");
  std::FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) throw std::runtime_error("no pipe for " + command);
  std::string last;
  for (char line[256]; std::fgets(line, sizeof line, output) != nullptr;) last = line;
  const bool failed = pclose(output) != 0;
  if (failed && (!job.with_deaths || last.empty())) throw std::runtime_error("failed: " + command);
  return last.substr(last.find(' ') + 1);
}

}  // namespace fabric_bench
