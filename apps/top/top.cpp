// SPDX-License-Identifier: MIT
// cariama-top: shows the counters of all processes of a job, and how fast they grow.
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/command_line.hpp"
#include "common/figures.hpp"
#include "dtutils/error.hpp"
#include "job.hpp"
#include "monitoring/reporter.hpp"
#include "table.hpp"

namespace {

struct Options {
  std::uint64_t job = 0;
  std::uint64_t interval_ms = 1000;
  bool once = false;
  bool list = false;
  bool json = false;
  std::string filter;
};

/// What the screen has: 0 for what is no terminal, and where it does not say.
struct Screen {
  std::size_t rows = 0, columns = 0;
  /// It knows how to go back to its first row.
  bool goes_back = false;
};

Screen screen() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  const char* const kind = std::getenv("TERM");
  const std::string_view known = kind != nullptr ? kind : "";
  return {size.ws_row, size.ws_col, !known.empty() && known != "dumb"};
}

void flush() {
  if (std::fflush(stdout) == 0) return;
  throw dtutils::Error("output", "it cannot be written", "make room for it", errno);
}

void print(const Options& options, const top::Job& job, const top::Job& before, std::uint64_t pid) {
  // A terminal is asked each time, since windows change.
  const Screen size = screen();
  std::vector<std::string> lines = top::table(job, before, pid, size.columns, options.filter);
  if (!options.once && size.goes_back) {
    top::cut(lines, size.rows, size.columns);
    fmt::print("\033[H\033[J");
  }
  for (const std::string& line : lines) fmt::print("{}\n", line);
  flush();
}

void print_json(const top::Job& job, const top::Job& before, const std::string& filter) {
  std::vector<common::Figures> rows;
  for (std::size_t i = 0; i < job.processes.size(); ++i) {
    const top::Process& process = job.processes[i];
    common::Figures counters, rates;
    for (std::size_t n = 0; n < process.figures.size(); ++n) {
      if (process.figures[n].name.find(filter) == std::string::npos) continue;
      counters.push_back({process.figures[n].name, process.figures[n].value});
      if (const auto rate = top::rate_of(before, job, i, n)) {
        rates.push_back({process.figures[n].name, *rate});
      }
    }
    rows.push_back({{"process", process.number},
                    {"pid", process.pid},
                    {"machine", process.machine},
                    {"host", process.host},
                    {"state", process.state},
                    {"counters", counters},
                    {"per_second", rates}});
  }
  fmt::print("{}\n", common::json_array(rows));
  flush();
}

std::uint64_t only_reporter() {
  const auto found = top::find_jobs();
  if (found.size() == 1) return found.front().front();
  throw dtutils::Error("jobs",
                       found.empty() ? "no process of this user on this machine reports about a job"
                                     : fmt::format("there are {} jobs", found.size()),
                       found.empty() ? "make a monitoring::Reporter in a process of the job"
                                     : "name a process of one by --job; --list names all");
}

/// Another process that reports about the job, when `pid` has ended; nothing when there is none.
std::optional<std::uint64_t> heir_of(const top::Job& job, std::uint64_t pid) {
  const auto left = top::reporters_of(job, pid, monitoring::find_reporters());
  return left.size() > 1 ? std::optional(left[1]) : std::nullopt;
}

void watch(const Options& options) {
  std::uint64_t pid = options.job != 0 ? options.job : only_reporter();
  const auto interval = std::chrono::milliseconds(options.interval_ms);
  top::Job before = top::ask(pid);
  for (;;) {
    std::this_thread::sleep_for(interval);
    std::optional<top::Job> now;
    try {
      now = top::ask(pid);
    } catch (const dtutils::Error& error) {
      // One that lives answers again, when its machine has time for it.
      if (kill(static_cast<pid_t>(pid), 0) != 0) {
        const auto heir = heir_of(before, pid);
        if (!heir) throw;
        pid = *heir;
        continue;
      }
      if (options.once) throw;
      fmt::print(stderr, "cariama-top: {}\n", error.what());
      continue;
    }
    options.json ? print_json(*now, before, options.filter) : print(options, *now, before, pid);
    if (options.once) return;
    before = std::move(*now);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  common::CommandLine line{
      "Shows the counters of all processes of a job on this machine (monitoring::Board), as a "
      "process of it reports them (monitoring::Reporter), and how fast they grow. The job is read "
      "by RDMA, by a thread of the process that reports."};
  line.option("--job", options.job, "Process id of one that reports; 0: the only job there is")
      .option("--interval", options.interval_ms, "Milliseconds between two looks", 10, 3'600'000)
      .flag("--once", options.once, "Print once and end")
      .flag("--json", options.json, "Print arrays of objects, one for each process")
      .option("--filter", options.filter, "Show only counters whose names contain this")
      .flag("--list", options.list,
            "Print the processes that report, those of a job in one line, and end");
  if (const auto status = line.parse(argc, argv)) return *status;
  if (options.list) {
    for (const auto& job : top::find_jobs()) fmt::print("{}\n", fmt::join(job, " "));
    flush();
    return EXIT_SUCCESS;
  }
  watch(options);
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "cariama-top: {}\n", error.what());
  return EXIT_FAILURE;
}
