// SPDX-License-Identifier: MIT
// A program of a job, for dsfabric_bench: what calls to busy processes take, and what peers cost.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "dtutils/joinable_thread.hpp"

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

/// ns of a call to a service thread of a process whose threads compute on all cores, until its
/// result is here: nine of ten take less.
double busy_call(dsfabric::Fabric& fabric) {
  constexpr std::size_t kCalls = 200;
  std::atomic<bool> over{false};
  std::vector<std::jthread> computing;
  if (fabric.process().value != 0) {
    for (unsigned i = 0; i < dtutils::cores(); ++i) {
      computing.emplace_back([&over] {
        while (!over.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  std::array<double, kCalls> took{};
  if (fabric.process().value == 0) {
    dsfabric::SendChannel calls(fabric);
    for (double& each : took) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const auto begin = Clock::now();
      call(calls, {1});
      each = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    }
    std::ranges::sort(took);
  }
  (void)fabric.exchange({});
  over.store(true, std::memory_order_relaxed);
  return took[kCalls * 9 / 10];
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
  const auto measure = what == "first_contact" ? first_contact
                       : what == "busy_call"   ? busy_call
                       : what == "idle_memory" ? idle_memory
                                               : nullptr;
  if (measure == nullptr) {
    fmt::print(stderr, "contact_probe: say first_contact, busy_call or idle_memory\n");
    return 2;
  }
  (void)fabric.exchange({});
  const double figure = measure(fabric);
  // Nobody ends while others measure.
  (void)fabric.exchange({});
  if (fabric.process().value == 0) fmt::print("{}\n", figure);
} catch (const std::exception& error) {
  fmt::print(stderr, "contact_probe: {}\n", error.what());
  return 1;
}
