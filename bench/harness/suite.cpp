// SPDX-License-Identifier: MIT
// The course of a bench program.
#include "bench/harness/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <regex>
#include <stdexcept>
#include <utility>

#include "bench/harness/director.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/pin.hpp"
#include "bench/harness/process_group.hpp"
#include "bench/harness/runner.hpp"
#include "bench/harness/shared_memory.hpp"
#include "bench/harness/watchdog.hpp"
#include "bench/harness/worker.hpp"

namespace bench {
namespace {

void print_progress(std::size_t number, std::size_t count, const std::vector<Row>& rows) {
  std::string text = fmt::format("[{}/{}]", number, count);
  for (const Row& row : rows) {
    text +=
        fmt::format("  {}/{} {}", row.name, row.size, format_figure(row.summary.median, row.unit));
  }
  if (!rows.empty()) {
    text += fmt::format("  (round trip {:.0f} ns, {})", rows.front().round_trip_ns,
                        rows.front().near  ? "near"
                        : rows.front().far ? "far"
                                           : "not judged");
  }
  fmt::print(stderr, "{}\n", text);
}

void print_report(const std::string& name, const std::string& description,
                  const std::string& machine, const Options& options, const Report& report) {
  fmt::print("{}: {}\n{}\n", name, description, machine);
  fmt::print(
      "{} rounds of {:g} ms batches, variants interleaved; {}: round trip {} {:g} ns, "
      "cores at >= {:g} % of their best, waited for a core <= {:g} %\n{}\n",
      options.runs, options.batch_ms, options.near.far ? "far" : "near",
      options.near.far ? ">=" : "<", options.near.round_trip_ns, 100 * options.near.core_speed,
      100 * kMaxCoreWait, options.smoke ? "SMOKE RUN: the figures mean nothing\n" : "");
  fmt::print("{}", format_table(report.rows));
  for (const std::string& note : report.notes) fmt::print("note: {}\n", note);
}

// A bar whose variant was skipped has no row and is not met either.
bool all_bars_met(const std::vector<Case>& cases, const std::vector<Row>& rows, bool far) {
  std::ptrdiff_t bars = 0;
  for (const Case& item : cases) {
    for (const Variant& each : item.variants) bars += !far && !each.bar.empty();
    for (const Ratio& each : item.ratios) bars += !(far ? each.far_bar : each.bar).empty();
  }
  return bars == std::count_if(rows.begin(), rows.end(),
                               [](const Row& row) { return row.verdict == Verdict::kMet; });
}

}  // namespace

Suite::Suite(int argc, char** argv, std::string name, std::string description)
    : argc_(argc), argv_(argv), name_(std::move(name)), description_(std::move(description)) {}

Suite& Suite::processes(int count) {
  if (count < 2 || count > kMaxProcesses) {
    throw std::invalid_argument(
        fmt::format("a bench has 2 to {} processes, not {}", kMaxProcesses, count));
  }
  processes_ = count;
  return *this;
}

Suite& Suite::option(const std::string& flag, std::string& value, const std::string& help) {
  options_.push_back({flag, &value, help});
  return *this;
}

Suite& Suite::setup(std::function<void(Channel&)> function) {
  setup_ = std::move(function);
  return *this;
}

Suite& Suite::teardown(std::function<void(Channel&)> function) {
  teardown_ = std::move(function);
  return *this;
}

Suite& Suite::add(Case item) {
  check_case(item);
  for (const Case& other : cases_) {
    if (case_id(other) == case_id(item)) {
      throw std::invalid_argument("two cases are named " + case_id(item));
    }
  }
  cases_.push_back(std::move(item));
  return *this;
}

int Suite::run() {
  try {
    const std::vector<std::string> arguments(argv_ + std::min(argc_, 1), argv_ + argc_);
    const Options options = parse_options(name_, description_, arguments, options_);
    keep_matching(options.filter);
    if (!options.list) return measure(options);
    for (const Case& item : cases_) fmt::print("{}\n", case_id(item));
    return 0;
  } catch (const UsageExit& usage) {
    fmt::print(usage.status() == 0 ? stdout : stderr, "{}\n", usage.what());
    return usage.status();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name_, error.what());
    return 1;
  }
}

void Suite::keep_matching(const std::string& filter) {
  const std::regex wanted(filter);
  std::erase_if(cases_,
                [&](const Case& item) { return !std::regex_search(case_id(item), wanted); });
  if (cases_.empty()) {
    throw UsageExit(2, fmt::format("{}: no case matches \"{}\"; see --list", name_, filter));
  }
}

int Suite::measure(const Options& options) {
  std::ofstream json;
  if (!options.json.empty()) {
    json.open(options.json);
    if (!json) throw std::runtime_error("cannot write " + options.json);
  }
  const std::vector<int> cores = options.near.far ? farthest_first(usable_cores()) : usable_cores();
  const std::string machine = describe_machine();
  const SharedMemory memory(sizeof(ControlBlock));
  ControlBlock& block = *memory.as<ControlBlock>();
  ProcessGroup children(processes_,
                        [&](int rank) { return run_child(block, rank, cores, options.smoke); });
  auto watchdog = std::make_unique<Watchdog>(name_, block, children.pids());
  pin_this_thread(cores, 0);
  Channel channel(block, 0, processes_, cores);
  Director director(block, channel, cases_, *watchdog, options.smoke);
  Report report;
  try {
    report = run_cases(channel, director, options);
  } catch (const std::exception& error) {
    throw std::runtime_error(watchdog->step() + ": " + error.what());
  }
  watchdog.reset();
  channel.barrier();  // now the children may end
  children.join();

  print_report(name_, description_, machine, options, report);
  if (json.is_open() && !(json << format_json(report.rows) << std::flush)) {
    throw std::runtime_error("cannot write " + options.json);
  }
  if (report.rows.empty() && options.near.far) return kSkipped;
  return options.check && !all_bars_met(cases_, report.rows, options.near.far) ? 1 : 0;
}

Report Suite::run_cases(Channel& channel, Director& director, const Options& options) {
  Runner runner(director, options);
  if (setup_) setup_(channel);
  channel.barrier();
  Report report;
  const bool skip = options.near.far && !options.smoke && !runner.await_near();
  if (skip) report.notes.push_back("SKIPPED: the two cores were never far from each other");
  for (std::size_t i = 0; i < cases_.size() && !skip; ++i) {
    const CaseResult result = runner.run(i, cases_[i]);
    const std::vector<Row> rows =
        make_rows(cases_[i], result.selection, result.skipped, options.near.far);
    print_progress(i + 1, cases_.size(), rows);
    report.rows.insert(report.rows.end(), rows.begin(), rows.end());
    report.notes.insert(report.notes.end(), result.notes.begin(), result.notes.end());
  }
  director.quit();
  if (teardown_) teardown_(channel);
  channel.barrier();
  return report;
}

int Suite::run_child(ControlBlock& block, int rank, const std::vector<int>& cores, bool smoke) {
  try {
    pin_this_thread(cores, rank);
    Channel channel(block, rank, processes_, cores);
    Worker worker(block, channel, cases_, smoke);
    if (setup_) setup_(channel);
    channel.barrier();
    worker.serve();
    if (teardown_) teardown_(channel);
    channel.barrier();
    channel.barrier();  // process 0 has stopped watching: an end is no longer a failure
    return 0;
  } catch (const std::exception& error) {
    record_failure(block, rank, error.what());
  } catch (...) {
    record_failure(block, rank, "an exception of unknown type");
  }
  return 1;
}

}  // namespace bench
