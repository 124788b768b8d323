// SPDX-License-Identifier: MIT
// Everybody changes one state by messages that all deliver in one order: the first example of
// multicast.
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "common/command_line.hpp"
#include "dtutils/clock.hpp"
#include "simulation/cariama_main.hpp"
#include "sst/sst.hpp"

namespace {

/// In which order they come makes a difference.
struct Change {
  std::uint64_t factor;
  std::uint64_t summand;
};
/// Where a process is in the end.
struct End {
  std::uint64_t state;
  bool reached;
};

void change_together(dsfabric::Fabric& fabric, std::uint64_t messages) {
  sst::TableGroup group{fabric};
  sst::Table<End> ends{group};
  const std::uint64_t rank = fabric.process().value;
  std::uint64_t state = 1, delivered = 0, sent = 0;
  sst::Multicast multicast{group,
                           {.order = sst::Order::kByTurns, .max_message = sizeof(Change)},
                           [&](const sst::Message& message) {  // in the same order everywhere
                             Change change;
                             std::memcpy(&change, message.data, sizeof change);
                             state = state * change.factor + change.summand;
                             ++delivered;
                           }};

  const std::uint64_t all = messages * fabric.processes();
  const auto begin = dtutils::Clock::now();
  sst::Pace pace{fabric};
  while (delivered < all && !multicast.stopped()) {
    while (sent < messages &&
           multicast.try_send(Change{2 * rank + 3, sent}) == sst::SendStatus::kAccepted) {
      ++sent;
    }
    pace.after(multicast.evaluate());
  }
  const std::chrono::duration<double> took = dtutils::Clock::now() - begin;
  if (delivered < all) throw std::runtime_error(multicast.why_stopped());

  // Others may still need the counters of this one.
  bool failed = false;
  ends.on_failure([&](sst::MemberId, const std::string&) { failed = true; });
  ends.store(&End::state, state);
  ends.push(&End::state);
  ends.set(&End::reached, true);
  while (!ends.all(&End::reached) && !failed) pace.after(multicast.evaluate() || ends.evaluate());
  if (failed) throw std::runtime_error("a process failed at the end");
  if (ends.min(&End::state) != ends.max(&End::state)) throw std::runtime_error("states differ");
  if (rank != 0) return;
  fmt::print("{} processes are in the same state after {} messages in {:.3f} s: {:.0f} a second\n",
             fabric.processes(), all, took.count(), static_cast<double>(all) / took.count());
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  std::uint64_t messages = 1'000'000;
  dsfabric::Config config;
  common::CommandLine line{
      "All processes of a job change one state; start several by scripts/run."};
  line.option("--messages", messages, "How many each of them sends");
  if (const auto status = line.parse(argc, argv, config)) return *status;
  dsfabric::Fabric fabric = dsfabric::join(config);
  change_together(fabric, messages);
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "multicast: {}\n", error.what());
  return EXIT_FAILURE;
}
