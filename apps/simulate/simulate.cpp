// SPDX-License-Identifier: MIT
// Runs workloads in simulations, seed after seed, each in a process of its own.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "common/command_line.hpp"
#include "groups/groups.hpp"
#include "program.hpp"
#include "simulation/model.hpp"
#include "workloads.hpp"

namespace simulate {
namespace {

struct Settings {
  std::uint64_t nodes = 4;
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  std::uint64_t seconds = 0;
  std::string workload = "all";
  bool swarm = false;
  bool calm = false;
  bool broken = false;
  bool visible_threads = false;
  std::string trace;
  std::string model;
};

/// A line that a shell runs.
std::string repeat_line(const Workload& workload, const Settings& settings, std::uint64_t seed) {
  return fmt::format("scripts/simulate --workload {} --nodes {} --seed {}{}{}{}{}", workload.name,
                     settings.nodes, seed, settings.swarm ? " --swarm" : "",
                     settings.calm ? " --calm" : "", settings.broken ? " --broken" : "",
                     settings.model.empty() ? "" : " --model " + settings.model);
}

/// Runs it here, and prints how it went; true when all invariants held.
bool run_here(const Workload& workload, const Settings& settings, std::uint64_t seed, bool quiet) {
  const auto nodes = static_cast<std::uint32_t>(settings.nodes);
  simulation::Options options;
  options.cluster.seed = seed;
  options.cluster.model = simulation::read_model(settings.model);
  options.cluster.visible_threads = settings.visible_threads;
  // Less than elsewhere, since the nodes share a machine.
  options.config.superpage = std::size_t{4} << 20;
  options.config.receive_depth = 64;
  bool failures = false;
  std::string drawn = "an undisturbed network";
  if (settings.swarm) {
    simulation::Swarm swarm = simulation::draw(seed, nodes, options, !settings.calm);
    options = std::move(swarm.options);
    failures = swarm.failures;
    drawn = std::move(swarm.description);
  }
  options.cluster.trace = settings.trace;
  const Outcome outcome =
      workload.run({nodes, options, failures, settings.swarm && !settings.calm, settings.broken});
  const dtutils::SimulationReport& report = outcome.report;
  if (!report.trace_error.empty()) throw std::runtime_error(report.trace_error);
  if (outcome.violation.empty()) {
    if (quiet) return true;
    fmt::print("{}, {} nodes, seed {}: {}: held; digest {:016x}, {} events, {:.3f} ms\n",
               workload.name, nodes, seed, drawn, report.digest, report.events,
               static_cast<double>(report.time.count()) / 1e6);
    return true;
  }
  fmt::print("{}, {} nodes, seed {}: {}\nVIOLATED ({}): {}\nrepeat: {}\n", workload.name, nodes,
             seed, drawn, workload.promise, outcome.violation,
             repeat_line(workload, settings, seed));
  return false;
}

/// The same in a process of its own, so that a crash is found like a violation.
bool run_apart(const Workload& workload, const Settings& settings, std::uint64_t seed) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const bool held = run_here(workload, settings, seed, true);
    std::fflush(stdout);
    _exit(held ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    throw dtutils::Error("program", "no process can be started", "raise the limit (ulimit -u)",
                         errno);
  }
  if (WIFSIGNALED(status)) {
    fmt::print("{}, seed {}: ended by signal {}\nrepeat: {}\n", workload.name, seed,
               WTERMSIG(status), repeat_line(workload, settings, seed));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

bool run_all(const Settings& settings) {
  const auto begin = std::chrono::steady_clock::now();
  const auto over = [&] {
    return settings.seconds != 0 &&
           std::chrono::steady_clock::now() - begin > std::chrono::seconds(settings.seconds);
  };
  const std::uint64_t seeds =
      settings.seconds != 0 && settings.seeds == 1 ? UINT64_MAX : settings.seeds;
  std::uint64_t runs = 0;
  for (std::uint64_t i = 0; i < seeds && !over(); ++i) {
    for (const Workload& workload : workloads()) {
      if (settings.workload != "all" && settings.workload != workload.name) continue;
      const std::uint64_t seed = settings.seed + i;
      const bool held = seeds == 1 ? run_here(workload, settings, seed, false)
                                   : run_apart(workload, settings, seed);
      if (!held) return false;
      ++runs;
    }
  }
  if (seeds == 1) return true;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  fmt::print("{} runs in {:.1f} s, {:.0f} a minute, from seed {} on: every invariant held\n", runs,
             took.count(), 60 * static_cast<double>(runs) / took.count(), settings.seed);
  return true;
}

/// Throws Error for what would be ignored.
void check(const Settings& settings, bool is_program) {
  if (settings.calm && !settings.swarm) {
    throw dtutils::Error("--calm", "without --swarm nothing is drawn", "give --swarm, too");
  }
  const bool of_workloads =
      settings.seeds != 1 || settings.seconds != 0 || settings.broken || settings.workload != "all";
  if (is_program && of_workloads) {
    throw dtutils::Error("--seeds, --seconds, --workload and --broken",
                         "they are for workloads, and a PROGRAM is run once",
                         "leave them out, or start the program once for each seed");
  }
  // Members of an ordered group; sets of members are words of the workload agreement.
  const bool few = settings.workload == "agreement" || settings.workload == "groups" ||
                   settings.workload == "all";
  if (!is_program && few && settings.nodes > groups::kMaxGroupMembers) {
    throw dtutils::Error("--nodes", "agreement and groups have at most 64 nodes",
                         "give fewer, or another --workload");
  }
}

}  // namespace
}  // namespace simulate

int main(int argc, char** argv) try {
  simulate::Settings settings;
  common::CommandLine line{
      "Runs a PROGRAM that has a cariama_main, with its ARGUMENTS, in the nodes of a simulated "
      "cluster: all nodes in one process, in virtual time, and with one seed always the same run. "
      "Without a program, runs workloads with invariants; a run that violates one prints the line "
      "that repeats it, and ends the search.\n"
      "Usage: simulate [OPTIONS] [PROGRAM [ARGUMENTS...]]\n"
      "PROGRAM --help lists the settings of the library."};
  line.option("--nodes", settings.nodes, "Nodes of the cluster", 1, 4096)
      .option("--seed", settings.seed, "The first seed")
      .option("--seeds", settings.seeds, "Seeds to run", 1, UINT64_MAX)
      .option("--seconds", settings.seconds, "At most for so long; with no --seeds, until then")
      .option(
          "--workload", settings.workload, "What to run",
          {"all", "ring", "tree", "rounds", "agreement", "multicast", "locks", "memory", "groups"})
      .option("--trace", settings.trace,
              "Of one run, a program's or a workload's: its timeline is written to this file, for "
              "ui.perfetto.dev and chrome://tracing")
      .option("--model", settings.model,
              "What adapters and network take: \"post=50,mtu=1024\", members of NetworkModel by "
              "name, times in ns; calibration_bench prints those of a device")
      .flag("--swarm", settings.swarm, "Each seed draws disorder and faults")
      .flag("--calm", settings.calm, "With --swarm: no faults that make nodes fail")
      .flag("--visible-threads", settings.visible_threads,
            "For a debugger: each thread waits in the operating system, which takes longer")
      .flag("--broken", settings.broken, "The workload does something wrong, which must be found");
  std::vector<std::string> command;
  line.command(command);
  if (const auto status = line.parse(argc, argv)) return *status;
  simulate::check(settings, !command.empty());
  if (!command.empty()) {
    simulate::start_program(command, {.nodes = settings.nodes,
                                      .seed = settings.seed,
                                      .swarm = settings.swarm,
                                      .calm = settings.calm,
                                      .visible_threads = settings.visible_threads,
                                      .trace = settings.trace,
                                      .model = settings.model});
  }
  // Before the first run, which may be one of many.
  (void)simulation::read_model(settings.model);
  const bool many = settings.seeds != 1 || settings.seconds != 0 || settings.workload == "all";
  if (!settings.trace.empty() && many) {
    throw dtutils::Error("--trace", "it is the timeline of one run, and many were asked for",
                         "give a PROGRAM, or one --workload and no more than one seed");
  }
  return simulate::run_all(settings) ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  fmt::print(stderr, "simulate: {}\n", error.what());
  return EXIT_FAILURE;
}
