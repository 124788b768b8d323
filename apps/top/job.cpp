// SPDX-License-Identifier: MIT
// Asking a Reporter, and reading its lines.
#include "job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "dtutils/error.hpp"
#include "monitoring/reporter.hpp"

namespace top {
namespace {

[[noreturn]] void refuse(std::uint64_t pid, const char* happened) {
  throw dtutils::Error(fmt::format("process {}", pid), happened,
                       "use a cariama-top of the same build as the job");
}

}  // namespace

Job ask(std::uint64_t pid) {
  std::istringstream text(monitoring::ask_reporter(pid));
  Job job{{}, std::chrono::steady_clock::now()};
  bool ended = false;
  for (std::string line; !ended && std::getline(text, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "process") {
      Process& process = job.processes.emplace_back();
      words >> process.number >> process.pid >> process.machine >> process.host >> std::ws;
      std::getline(words, process.state);
    } else if (what == "counter" && !job.processes.empty()) {
      Figure& figure = job.processes.back().figures.emplace_back();
      std::string kind;
      words >> figure.name >> kind >> figure.value;
      if (!words) refuse(pid, "it answers something else");
      figure.level = kind == "level";
      words >> figure.unit;
    } else if (what == "end") {
      ended = true;
    } else if (what == "error") {
      throw dtutils::Error(fmt::format("process {}", pid), line, "look at its own output");
    } else if (what != "job") {
      refuse(pid, "it answers something else");
    }
  }
  if (!ended) refuse(pid, "its answer ends too early");
  return job;
}

std::vector<std::uint64_t> reporters_of(const Job& job, std::uint64_t pid,
                                        const std::vector<std::uint64_t>& reporters) {
  std::vector<std::uint64_t> found{pid};
  const auto asked = std::ranges::find(job.processes, pid, &Process::pid);
  if (asked == job.processes.end()) return found;
  for (const Process& process : job.processes) {
    // Other machines have processes with the same numbers.
    if (process.pid == pid || process.machine != asked->machine) continue;
    if (std::ranges::find(reporters, process.pid) != reporters.end()) found.push_back(process.pid);
  }
  return found;
}

std::vector<std::vector<std::uint64_t>> find_jobs() {
  std::vector<std::vector<std::uint64_t>> jobs;
  std::vector<std::uint64_t> left = monitoring::find_reporters();
  std::ranges::sort(left);
  while (!left.empty()) {
    std::vector<std::uint64_t> job{left.front()};
    try {
      job = reporters_of(ask(left.front()), left.front(), left);
    } catch (const dtutils::Error&) {
      // It has just ended, or has no time.
    }
    std::erase_if(left,
                  [&](std::uint64_t pid) { return std::ranges::find(job, pid) != job.end(); });
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace top
