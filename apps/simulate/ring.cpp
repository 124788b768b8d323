// SPDX-License-Identifier: MIT
// Workload ring: messages by rings under back-pressure.
#include <fmt/format.h>

#include <vector>

#include "riutils/riutils.hpp"
#include "workloads.hpp"

namespace simulate {
namespace {

constexpr std::uint32_t kMessages = 150;

/// What came, from each node to each node; the nodes share it.
struct Streams {
  explicit Streams(std::uint32_t its_nodes) : nodes(its_nodes), last(its_nodes * its_nodes) {}
  std::uint32_t nodes;
  /// The number of the message that came last.
  std::vector<std::uint32_t> last;
  std::string violation;

  std::uint32_t& at(std::uint32_t from, std::uint32_t to) { return last[from * nodes + to]; }
};

struct Message {
  Streams* streams;
  std::uint32_t from;
  std::uint32_t to;
  std::uint32_t number;
  std::uint8_t fill[72];

  void operator()() const {
    std::uint32_t& last = streams->at(from, to);
    if (number != last + 1 && streams->violation.empty()) {
      streams->violation = fmt::format("message {} from node {} to node {} came after message {}",
                                       number, from, to, last);
    }
    last = number;
  }
};

}  // namespace

Outcome run_ring(const Run& run) {
  Streams streams(run.nodes);
  const auto program = [&](dsfabric::Fabric& fabric) {
    fabric.run([&](dsfabric::Thread& self) {
      // Rings so small that they are full most of the time; those of some seeds grow.
      const std::uint32_t limit = run.options.cluster.seed % 2 == 0 ? 6 : 2;
      riutils::RDMAMessengerGlobal calls(
          self, {.ring = {.chunk_bytes = 512, .chunks = 2, .chunk_limit = limit}});
      const std::uint32_t from = self.id().process.value;
      for (std::uint32_t number = 1; number <= kMessages; ++number) {
        for (const int distance : {1, 2}) {
          const dsfabric::ThreadId to = self.neighbour(distance);
          if (distance == 2 && run.nodes < 3) continue;
          const bool skips = run.broken && number == kMessages / 2;
          const Message message{&streams, from, to.process.value, number + skips, {}};
          if (calls.call(to, message) == dsfabric::CallStatus::kPeerGone) return;
        }
      }
      riutils::wait_for_termination(self);
    });
  };
  return run_checked(run, program, [&] {
    if (!streams.violation.empty() || run.failures) return streams.violation;
    for (std::uint32_t from = 0; from < run.nodes; ++from) {
      const std::uint32_t to = (from + 1) % run.nodes;
      if (const std::uint32_t last = streams.at(from, to); last != kMessages) {
        return fmt::format("of {} messages from node {} to node {} the last one was {}", kMessages,
                           from, to, last);
      }
    }
    return std::string();
  });
}

}  // namespace simulate
