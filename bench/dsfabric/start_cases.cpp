// SPDX-License-Identifier: MIT
// Whole jobs: how long they take from start to end, and what their processes pay for each other.
#include <cstdlib>
#include <string>

#include "bench/dsfabric/cases.hpp"
#include "bench/fabric/launched_job.hpp"

namespace fabric_bench {
namespace {

double start(bench::Batch& batch, std::uint32_t processes) {
  return batch.ns_each([&] {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      (void)run_job(batch, {.processes = processes, .program = "apps/tutorial/hello"});
    }
  });
}

/// What the probe measures.
double probe(bench::Batch& batch, std::uint32_t processes, const char* what) {
  const std::string figure =
      run_job(batch, {.processes = processes, .program = "bench/contact_probe", .argument = what});
  return std::strtod(figure.c_str(), nullptr);
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
  suite.add(
      {.name = "service_call_beside_work",
       .size = 2,
       .variants = {{.name = "call_return",
                     .measure = [](bench::Batch& batch) { return probe(batch, 2, "busy_call"); }}},
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
