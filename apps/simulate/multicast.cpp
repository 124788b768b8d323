// SPDX-License-Identifier: MIT
// Workload multicast: all messages in one order, over rings that are full most of the time.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "dtutils/wait.hpp"
#include "sst/sst.hpp"
#include "workloads.hpp"

namespace simulate {
namespace {

constexpr std::uint32_t kUpdates = 30;
/// Longest pause before a message, so that others have nothing to wait for but turns.
constexpr std::uint64_t kMessagePauseNs = 20'000;

/// The seed chooses how many slots there are: receivers tell how far they are at each message, or
/// at some, and when they have nothing to do.
std::uint32_t slots_of(std::uint64_t seed) { return seed % 3 == 0 ? 16 : sst::kMinSlots; }

/// The seed chooses who has nothing to send.
std::uint32_t updates_of(std::uint64_t seed, std::uint32_t node) {
  return node != 0 && (seed >> node) % 4 == 0 ? 0 : kUpdates;
}

struct Update {
  std::uint32_t from;
  std::uint32_t number;
  /// All words are the same; longer than a cache line, so that it may land in two parts.
  std::uint64_t fill[15];
};

Update update(std::uint32_t from, std::uint32_t number) {
  Update made{from, number, {}};
  std::fill(std::begin(made.fill), std::end(made.fill), std::uint64_t{from} << 32 | number);
  return made;
}

/// What each node has delivered; the nodes share it.
struct Histories {
  explicit Histories(std::uint32_t nodes) : of(nodes) {}
  std::vector<std::vector<std::uint64_t>> of;
  std::string violation;

  void add(std::uint32_t node, const Update& seen) {
    std::vector<std::uint64_t>& mine = of[node];
    const Update whole = update(seen.from, seen.number);
    const auto before = std::count_if(mine.begin(), mine.end(),
                                      [&](std::uint64_t each) { return each >> 32 == seen.from; });
    if (violation.empty() && !std::ranges::equal(seen.fill, whole.fill)) {
      violation = fmt::format("node {} got parts of two messages of node {}", node, seen.from);
    } else if (violation.empty() && seen.number != before) {
      violation = fmt::format("node {} got message {} of node {} after {} of them", node,
                              seen.number, seen.from, before);
    }
    mine.push_back(whole.fill[0]);
  }
  bool all_have(std::size_t count) const {
    return std::ranges::all_of(of, [&](const auto& each) { return each.size() >= count; });
  }
};

}  // namespace

Outcome run_multicast(const Run& run) {
  Histories histories(run.nodes);
  const std::uint64_t seed = run.options.cluster.seed;
  std::size_t all = 0;
  for (std::uint32_t node = 0; node < run.nodes; ++node) all += updates_of(seed, node);
  const auto program = [&](dsfabric::Fabric& fabric) {
    const std::uint32_t me = fabric.process().value;
    sst::TableGroup group{fabric};
    sst::Multicast multicast{
        group,
        {.order = sst::Order::kByTurns, .max_message = sizeof(Update), .slots = slots_of(seed)},
        [&](const sst::Message& message) {
          // What a node delivers that was woken after the run is no part of it.
          if (dtutils::Simulation::current()->crashed(me)) return;
          Update seen;
          std::memcpy(&seen, message.data, sizeof seen);
          if (run.broken && me == 1 && seen.number == kUpdates / 2) ++seen.number;
          histories.add(me, seen);
        }};
    dtutils::Deadline deadline(kLimit);
    dtutils::Backoff backoff;
    std::uint32_t sent = 0;
    const std::uint32_t wanted = updates_of(seed, me);
    std::chrono::nanoseconds sends_at{0};
    auto& simulated = *dtutils::Simulation::current();
    // Who leaves ends the order.
    while (!histories.all_have(all) && !multicast.stopped() && !deadline.passed()) {
      const bool sends = sent < wanted && simulated.time() >= sends_at &&
                         multicast.try_send(update(me, sent)) == sst::SendStatus::kAccepted;
      sent += sends;
      if (sends && simulated.random() % 4 == 0) {
        sends_at =
            simulated.time() + std::chrono::nanoseconds(simulated.random() % kMessagePauseNs);
      }
      (multicast.evaluate() || sends) ? backoff.reset() : backoff.pause();
    }
  };
  return run_checked(run, program, [&] {
    if (!histories.violation.empty()) return histories.violation;
    for (std::uint32_t one = 0; one < run.nodes; ++one) {
      const std::vector<std::uint64_t>& mine = histories.of[one];
      if (!run.failures && mine.size() < all) {
        return fmt::format("node {} has delivered {} messages of {}", one, mine.size(), all);
      }
      const std::vector<std::uint64_t>& theirs = histories.of[(one + 1) % run.nodes];
      const auto [here, there] = std::ranges::mismatch(mine, theirs);
      if (here != mine.end() && there != theirs.end()) {
        return fmt::format("nodes {} and {} differ in the message at place {}", one,
                           (one + 1) % run.nodes, here - mine.begin());
      }
    }
    return std::string();
  });
}

}  // namespace simulate
