// SPDX-License-Identifier: MIT
// A program of a job, for dsfabric_bench: what a first contact takes, and what peers cost.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "dsfabric/dsfabric.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kPeers = 8;

void call(dsfabric::SendChannel& calls, dsfabric::ProcessId to) {
  calls.call_return(dsfabric::ThreadId::service_of(to), [] { return 1; }).get();
}

/// ns from the first call to a process, whose main thread computes, until its result is here.
double first_contact(dsfabric::Fabric& fabric) {
  const dsfabric::ProcessId next{
      static_cast<std::uint16_t>((fabric.process().value + 1) % fabric.processes())};
  dsfabric::SendChannel calls(fabric);
  // The futures of this thread, and code that runs for the first time, are nothing of the peer's.
  call(calls, fabric.process());
  double took = 0;
  if (fabric.process().value == 0) {
    const auto begin = Clock::now();
    call(calls, next);
    took = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  } else {
    const auto end = Clock::now() + std::chrono::milliseconds(50);
    while (Clock::now() < end) {
    }
  }
  return took;
}

/// Resident bytes of this process.
double resident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) * 1024;
  }
  return 0;
}

/// The same once it has talked to kPeers others, and others to it.
double idle_memory(dsfabric::Fabric& fabric) {
  dsfabric::SendChannel calls(fabric);
  for (std::uint32_t i = 1; i <= kPeers; ++i) {
    call(calls, {static_cast<std::uint16_t>((fabric.process().value + i) % fabric.processes())});
  }
  (void)fabric.exchange({});
  return resident();
}

}  // namespace

int main(int argc, char** argv) try {
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  const std::string what = argc > 1 ? argv[1] : "";
  if (what != "first_contact" && what != "idle_memory") {
    fmt::print(stderr, "contact_probe: say first_contact or idle_memory\n");
    return 2;
  }
  (void)fabric.exchange({});
  const double figure = what == "first_contact" ? first_contact(fabric) : idle_memory(fabric);
  // Nobody ends while others measure.
  (void)fabric.exchange({});
  if (fabric.process().value == 0) fmt::print("{}\n", figure);
} catch (const std::exception& error) {
  fmt::print(stderr, "contact_probe: {}\n", error.what());
  return 1;
}
