// SPDX-License-Identifier: MIT
// A job as its Reporter tells of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace top {

struct Figure {
  std::string name;
  bool level = false;
  std::uint64_t value = 0;
  std::string unit;
};
struct Process {
  std::uint64_t number = 0;
  std::uint64_t pid = 0;
  std::uint64_t machine = 0;
  std::string host;
  /// "ok", or why there are no figures.
  std::string state;
  std::vector<Figure> figures;
};
struct Job {
  std::vector<Process> processes;
  std::chrono::steady_clock::time_point at;
};

/// What the reporter in that process says now. Throws dtutils::Error when there is none, or when it
/// does not answer in words that this program knows within two seconds.
Job ask(std::uint64_t pid);

/// The processes of the job that report on the machine of `pid`, which is one of them: those of
/// `reporters` (monitoring::find_reporters) that the job names, `pid` first.
std::vector<std::uint64_t> reporters_of(const Job& job, std::uint64_t pid,
                                        const std::vector<std::uint64_t>& reporters);

/// The jobs of this user on this machine: of each, the processes that report. One that does not
/// answer is taken for a job of its own.
std::vector<std::vector<std::uint64_t>> find_jobs();

}  // namespace top
