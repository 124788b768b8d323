// SPDX-License-Identifier: MIT
// Does the same small job at each level of the stack, and shows what each level saves.
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "common/command_line.hpp"
#include "common/figures.hpp"
#include "dtutils/error.hpp"
#include "job.hpp"

namespace {

using levels::Cost;
using levels::Job;
using levels::Level;
using levels::Wire;

constexpr std::array kLevels{
    Level{"QueuePair", "nothing: you signal, poll and count by hand", levels::send_by_queue_pair,
          levels::receive_writes},
    Level{"Transmitter", "signaling, polling, recycling of memory", levels::send_by_transmitter,
          levels::receive_writes},
    Level{"fabric call", "endpoints, keys, addresses: you name a thread and call it",
          levels::send_by_fabric_call, levels::receive_calls},
    Level{"messenger", "the same calls, each by one RDMA write", levels::send_by_messenger,
          levels::receive_calls},
    Level{"aggregator", "the same calls, many by one write", levels::send_by_aggregator,
          levels::receive_calls},
};

/// The target process: its exit status tells what it saw.
[[noreturn]] void be_target(const Level& level, const Job& job, int socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = 2;
  try {
    Wire wire(socket);
    status = level.receive(job, wire) ? 0 : 1;
    wire.exchange(status);
  } catch (const std::exception& error) {
    fmt::print(stderr, "levels, target process: {}\n", error.what());
  }
  _exit(status);
}

Cost run(const Level& level, const Job& job) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw dtutils::Error("socket pair", "it cannot be made", "raise `ulimit -n`", errno);
  }
  // Before any device is opened: a device belongs to the process that opened it.
  const pid_t target = fork();
  if (target < 0) throw dtutils::Error("target process", "fork failed", "raise `ulimit -u`", errno);
  if (target == 0) {
    close(sockets[0]);
    be_target(level, job, sockets[1]);
  }
  close(sockets[1]);
  Wire wire(sockets[0]);
  const Cost cost = level.send(job, wire);
  const int verdict = wire.exchange(0);
  int status = 0;
  waitpid(target, &status, 0);
  if (verdict != 0 || status != 0) {
    throw dtutils::Error("target process", "it did not see all counters", "please report this");
  }
  return cost;
}

void print_table(const std::vector<Cost>& costs, const Job& job) {
  fmt::print("\n{} counters of 8 bytes, put into the memory of another process ({})\n\n", job.count,
             job.device);
  fmt::print("{:<14}{:>8}{:>14}   {}\n", "level", "lines", "ns each", "what it does for you");
  for (std::size_t i = 0; i < costs.size(); ++i) {
    fmt::print("{:<14}{:>8}{:>14.1f}   {}\n", kLevels[i].name, costs[i].lines,
               costs[i].nanoseconds_each, kLevels[i].what_it_saves);
  }
  fmt::print("\nThe target checked every slot: all as they should be.\n");
}

std::string to_json(const std::vector<Cost>& costs) {
  std::vector<common::Figures> all;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    all.push_back({{"level", kLevels[i].name},
                   {"lines", static_cast<std::uint64_t>(costs[i].lines)},
                   {"ns_each", costs[i].nanoseconds_each}});
  }
  return common::json_array(all);
}

}  // namespace

int main(int argc, char** argv) {
  Job job;
  bool json = false;
  common::CommandLine line{
      "Streams counters into another process' memory, once at each level of the stack."};
  line.option("--count", job.count, "counters to write", 1, std::uint64_t{1} << 40)
      .option("--device", job.device, "shm, auto, or a verbs device")
      .flag("--json", json, "print the figures for machines");
  if (const auto status = line.parse(argc, argv)) return *status;
  try {
    std::vector<Cost> costs;
    for (const Level& level : kLevels) {
      fmt::print(stderr, "level {}: {} ...\n", costs.size() + 1, level.name);
      costs.push_back(run(level, job));
    }
    if (json) {
      fmt::print("{}\n", to_json(costs));
    } else {
      print_table(costs, job);
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "levels: {}\n", error.what());
    return 1;
  }
}
