// SPDX-License-Identifier: MIT
// cariama-top: shows the counters of all processes of a job, and how fast they grow.
#include <fmt/core.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
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

/// What the screen has: 0 for what is no terminal.
struct Screen {
  std::size_t rows = 0, columns = 0;
};

Screen screen() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_row, size.ws_col};
}

void print(const Options& options, const top::Job& job, const top::Job& before, std::uint64_t pid) {
  // A terminal is asked each time, since windows change.
  const Screen size = screen();
  std::vector<std::string> lines = top::table(job, before, pid, size.columns, options.filter);
  if (!options.once) {
    top::cut(lines, size.rows, size.columns);
    if (size.columns != 0) fmt::print("\033[H\033[J");
  }
  for (const std::string& line : lines) fmt::print("{}\n", line);
  std::fflush(stdout);
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
  std::fflush(stdout);
}

std::uint64_t only_reporter() {
  const auto found = monitoring::find_reporters();
  if (found.size() == 1) return found.front();
  throw dtutils::Error("cariama-top",
                       found.empty() ? "no process of this user on this machine reports about a job"
                                     : fmt::format("{} processes report about jobs", found.size()),
                       found.empty() ? "make a monitoring::Reporter in one process of the job"
                                     : "name one by --job; --list names all");
}

void watch(const Options& options) {
  const std::uint64_t pid = options.job != 0 ? options.job : only_reporter();
  const auto interval = std::chrono::milliseconds(options.interval_ms);
  top::Job before = top::ask(pid);
  for (;;) {
    std::this_thread::sleep_for(interval);
    std::optional<top::Job> now;
    try {
      now = top::ask(pid);
    } catch (const dtutils::Error& error) {
      // One that lives answers again, when its machine has time for it.
      if (options.once || kill(static_cast<pid_t>(pid), 0) != 0) throw;
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
  line.option("--job", options.job, "Process id of the one that reports; 0: the only one there is")
      .option("--interval", options.interval_ms, "Milliseconds between two looks", 10, 3'600'000)
      .flag("--once", options.once, "Print once and end")
      .flag("--json", options.json, "Print arrays of objects, one for each process")
      .option("--filter", options.filter, "Show only counters whose names contain this")
      .flag("--list", options.list, "Print the processes that report, and end");
  if (const auto status = line.parse(argc, argv)) return *status;
  if (options.list) {
    for (const std::uint64_t pid : monitoring::find_reporters()) fmt::print("{}\n", pid);
    return EXIT_SUCCESS;
  }
  watch(options);
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "cariama-top: {}\n", error.what());
  return EXIT_FAILURE;
}
