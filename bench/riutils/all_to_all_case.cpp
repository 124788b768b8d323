// SPDX-License-Identifier: MIT
// Four workers in two processes, each calling all of them at random, against one pair.
#include <memory>

#include "riutils/cases.hpp"
#include "riutils/stream.hpp"

namespace ring_bench {
namespace {

using dsfabric::Thread;
using fabric_bench::Node;
using fabric_bench::NodePtr;

constexpr std::uint32_t kThreads = 2;

/// Of the worker that asks.
std::uint64_t& arrived_here() noexcept {
  thread_local std::uint64_t calls = 0;
  return calls;
}

struct Step {
  std::uint64_t word;
  void operator()() const noexcept { arrived_here() += word; }
};

/// Calls a second of all workers together, until every call has run.
double call_at_random(Thread& self, bench::Batch& batch) {
  riutils::RDMAAggregator aggregator(self);
  const std::uint32_t workers = self.fabric().total_threads();
  const std::uint64_t each = batch.iterations() / workers + 1;
  arrived_here() = 0;
  self.barrier();
  std::uint64_t random = self.fabric().rank_of(self.id()) * 0x9e3779b97f4a7c15 + 1;
  const double ns = bench::time_ns([&] {
    bool sent = true;
    for (std::uint64_t i = 0; i < each; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const auto rank = static_cast<std::uint32_t>(random >> 33) % workers;
      sent = aggregator.call(self.fabric().thread_of_rank(rank), Step{1}) && sent;
    }
    require(sent, "a call was refused");
    while (self.all_reduce(arrived_here()) != each * workers) {
      (void)aggregator.flush();
      self.progress();
    }
  });
  return static_cast<double>(each * workers) * 1e9 / ns;
}

}  // namespace

void add_all_to_all_case(bench::Suite& suite, const NodePtr& node, const std::string& device) {
  // A job of its own, with more workers, while the case is measured.
  const auto four = std::make_shared<NodePtr>();
  const auto run = fabric_bench::on_worker(
      *four, [four](Thread& self, bench::Batch& batch) { return call_at_random(self, batch); });
  const auto pair = calling<8, 0>("one_pair", node, [](Thread& self) {
    return std::make_unique<riutils::RDMAAggregator>(self);
  });
  suite.add({.name = "all_to_all",
             .size = 8,
             .unit = bench::Unit::kPerSecond,
             .variants = {{.name = "four_workers", .measure = run, .assist = run}, pair},
             .ratios = {{.over = "four_workers", .under = "one_pair", .bar = ">= 0.5"}},
             .prepare =
                 [four, &device](bench::Channel& channel) {
                   *four = std::make_unique<Node>(channel, device, kThreads);
                 },
             .finish = [four](bench::Channel&) { four->reset(); },
             .oversubscribed = true});
}

}  // namespace ring_bench
