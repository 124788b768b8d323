// SPDX-License-Identifier: MIT
// cariama-top: shows the counters of all processes of a job, and how fast they grow.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "common/command_line.hpp"
#include "common/figures.hpp"
#include "dtutils/error.hpp"
#include "job.hpp"
#include "monitoring/reporter.hpp"

namespace {

struct Options {
  std::uint64_t job = 0;
  std::uint64_t interval_ms = 1000;
  bool once = false;
  bool list = false;
  bool json = false;
};

/// 1234567 as 1.23 M.
std::string short_form(double value) {
  constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T", " P", " E"};
  std::size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return prefix == 0 && value == static_cast<double>(static_cast<std::uint64_t>(value))
             ? fmt::format("{:.0f}", value)
             : fmt::format("{:.3g}{}", value, kPrefixes[prefix]);
}

/// What a total grew by in a second since `before`; nothing for levels and new counters.
std::optional<double> rate_of(const top::Job& before, const top::Job& now, std::size_t process,
                              std::size_t figure) {
  const top::Figure& current = now.processes[process].figures[figure];
  if (current.level || process >= before.processes.size()) return std::nullopt;
  const auto& old = before.processes[process].figures;
  const std::chrono::duration<double> took = now.at - before.at;
  if (figure >= old.size() || old[figure].name != current.name || took.count() <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(current.value - old[figure].value) / took.count();
}

void print(const top::Job& job, const top::Job& before, std::uint64_t pid) {
  fmt::print("job of process {}: {} processes\n\n{:>7} {:>8} {:>7} {:<20} {:<30} {:>12} {:>12}\n",
             pid, job.processes.size(), "process", "pid", "machine", "host", "counter", "now",
             "a second");
  std::map<std::string, double> totals;
  for (std::size_t i = 0; i < job.processes.size(); ++i) {
    const top::Process& process = job.processes[i];
    std::string who = fmt::format("{:>7} {:>8} {:>7} {:<20}", process.number, process.pid,
                                  process.machine, process.host.substr(0, 20));
    if (process.figures.empty()) {
      fmt::print("{} {}\n", who, process.state == "ok" ? "no counters" : process.state);
    }
    for (std::size_t n = 0; n < process.figures.size(); ++n) {
      const top::Figure& figure = process.figures[n];
      const auto rate = rate_of(before, job, i, n);
      if (rate) totals[figure.name] += *rate;
      fmt::print("{:<45} {:<30} {:>12} {:>12}\n", who, figure.name,
                 short_form(static_cast<double>(figure.value)) + figure.unit,
                 rate ? short_form(*rate) + figure.unit : "");
      who.clear();
    }
  }
  for (const auto& [name, rate] : totals) {
    fmt::print("{:<45} {:<30} {:>12} {:>12}\n", "all", name, "", short_form(rate));
  }
  std::fflush(stdout);
}

void print_json(const top::Job& job, const top::Job& before) {
  std::vector<common::Figures> rows;
  for (std::size_t i = 0; i < job.processes.size(); ++i) {
    const top::Process& process = job.processes[i];
    common::Figures counters, rates;
    for (std::size_t n = 0; n < process.figures.size(); ++n) {
      counters.push_back({process.figures[n].name, process.figures[n].value});
      if (const auto rate = rate_of(before, job, i, n)) {
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
    const top::Job now = top::ask(pid);
    // Clears the screen of a terminal only.
    if (!options.once && !options.json && isatty(STDOUT_FILENO) != 0) fmt::print("\033[H\033[J");
    options.json ? print_json(now, before) : print(now, before, pid);
    if (options.once) return;
    before = now;
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
