// SPDX-License-Identifier: MIT
// Asking a Reporter, and reading its lines.
#include "job.hpp"

#include <fmt/format.h>

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

}  // namespace top
