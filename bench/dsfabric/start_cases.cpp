// SPDX-License-Identifier: MIT
// Whole jobs: how long they take from start to end, and what their processes pay for each other.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "bench/dsfabric/cases.hpp"

namespace fabric_bench {
namespace {

/// The benches lie in <build>/bench.
std::filesystem::path built(const char* path) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / path;
}

constexpr std::uint32_t kMostInSmoke = 64;

/// Runs a job of a program of this build, and returns what it printed last.
std::string run_job(bench::Batch& batch, std::uint32_t processes, const char* program,
                    const char* argument = "") {
  if (batch.smoke() && processes > kMostInSmoke) throw bench::Skip("it takes long");
  const auto launcher = built("apps/run/cariama-run");
  const auto path = built(program);
  if (!std::filesystem::exists(launcher) || !std::filesystem::exists(path)) {
    throw bench::Skip(fmt::format("apps/run and {} are not built", program));
  }
  // The bench is pinned to one core; the job may use all of them.
  std::string cores;
  for (const int core : batch.channel().cores()) {
    cores += fmt::format("{}{}", cores.empty() ? "" : ",", core);
  }
  const std::string command =
      fmt::format("taskset -c {} '{}' -n {} -t 1 '{}' {} --cariama-device=shm", cores,
                  launcher.string(), processes, path.string(), argument);
  std::FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) throw std::runtime_error("no pipe for " + command);
  std::string last;
  for (char line[256]; std::fgets(line, sizeof line, output) != nullptr;) last = line;
  if (pclose(output) != 0) throw std::runtime_error("failed: " + command);
  return last;
}

double start(bench::Batch& batch, std::uint32_t processes) {
  return batch.ns_each([&] {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      (void)run_job(batch, processes, "apps/tutorial/hello");
    }
  });
}

/// What the probe measures. The launcher puts "[0] " in front of it.
double probe(bench::Batch& batch, std::uint32_t processes, const char* what) {
  const std::string last = run_job(batch, processes, "bench/contact_probe", what);
  return std::strtod(last.substr(last.find(' ') + 1).c_str(), nullptr);
}

}  // namespace

void add_start_cases(bench::Suite& suite) {
  struct Size {
    std::uint32_t processes;
    const char* bar;
  };
  for (const Size& size :
       {Size{2, "<= 5e8"}, Size{16, "<= 1.5e8"}, Size{64, "<= 8e8"}, Size{256, "<= 5e9"}}) {
    suite.add(
        {.name = "join_processes",
         .size = size.processes,
         .variants = {{.name = "hello",
                       .measure = [processes = size.processes](
                                      bench::Batch& batch) { return start(batch, processes); },
                       .bar = size.bar}},
         .oversubscribed = true,
         .max_iterations = 1});
  }
  suite.add({.name = "first_contact_vs_cacheline",
             .size = 2,
             .variants = {{.name = "call_return",
                           .measure =
                               [](bench::Batch& batch) { return probe(batch, 2, "first_contact"); },
                           .bar = "<= 1e6"}},
             .ratios = {{.over = "call_return", .under = bench::kHalfRoundTrip}},
             .oversubscribed = true,
             .max_iterations = 1});
  const auto memory = [](std::uint32_t processes) {
    return [processes](bench::Batch& batch) { return probe(batch, processes, "idle_memory"); };
  };
  suite.add({.name = "idle_process_memory",
             .size = 8,
             .unit = bench::Unit::kBytes,
             .variants = {{.name = "job_of_256", .measure = memory(256), .bar = "<= 24e6"},
                          {.name = "job_of_16", .measure = memory(16), .bar = "<= 24e6"}},
             .ratios = {{.over = "job_of_256", .under = "job_of_16", .bar = "<= 1.05"}},
             .oversubscribed = true,
             .max_iterations = 1});
}

}  // namespace fabric_bench
