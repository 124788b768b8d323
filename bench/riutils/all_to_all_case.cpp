// SPDX-License-Identifier: MIT
// Four workers in two processes, each calling all others.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "bench/riutils/cases.hpp"
#include "bench/riutils/stream.hpp"

namespace ring_bench {
namespace {

using dsfabric::Thread;
using fabric_bench::NodePtr;

/// Of one worker: handlers run on their destination's thread.
struct Tally {
  std::uint64_t calls = 0;
  std::uint64_t all = 0;
};
Tally& tally() noexcept {
  static thread_local Tally mine;
  return mine;
}

struct Count {
  std::uint64_t word;
  void operator()() const noexcept { tally().calls += word; }
};

constexpr std::size_t kDestinations = 4096;

/// Workers other than `self`, at random.
std::vector<dsfabric::ThreadId> destinations(const Thread& self) {
  std::minstd_rand random(self.fabric().rank_of(self.id()) + 1);
  std::uniform_int_distribution<std::int64_t> distance(1, self.fabric().total_threads() - 1);
  std::vector<dsfabric::ThreadId> to(kDestinations);
  std::ranges::generate(to, [&] { return self.neighbour(distance(random)); });
  return to;
}

/// Every worker calls others at random; the rate of all together, the end of the last call
/// included.
double scatter(Thread& self, bench::Batch& batch) {
  const std::uint32_t workers = self.fabric().total_threads();
  const std::uint64_t each = batch.iterations() / workers + 1;
  const std::vector<dsfabric::ThreadId> to = destinations(self);
  const dsfabric::ThreadId first = self.fabric().thread_of_rank(0);
  riutils::RDMAAggregator aggregator(self);
  bool sent = true;
  self.barrier();
  const double ns = batch.time_ns([&] {
    for (std::uint64_t i = 0; i < each; ++i) {
      sent = accepted(aggregator.call(to[i % kDestinations], Count{1})) && sent;
    }
    riutils::wait_for_termination(self);
  });
  const std::uint64_t mine = std::exchange(tally().calls, 0);
  sent = accepted(aggregator.call(first, [mine] { tally().all += mine; })) && sent;
  riutils::wait_for_termination(self);
  const std::uint64_t all = std::exchange(tally().all, 0);
  require(sent, "a call was refused");
  require(self.id() != first || all == each * workers, "calls were lost or doubled");
  return static_cast<double>(each * workers) * 1e9 / ns;
}

}  // namespace

void add_all_to_all_case(bench::Suite& suite, const NodePtr& pair, const NodePtr& four) {
  const auto run = fabric_bench::on_worker(four, scatter);
  suite.add({.name = "all_to_all",
             .size = 8,
             .unit = bench::Unit::kPerSecond,
             .variants = {{.name = "four_workers", .measure = run, .assist = run},
                          calling<8, 0>("one_pair", pair,
                                        [](Thread& self) {
                                          return std::make_unique<riutils::RDMAAggregator>(self);
                                        })},
             .ratios = {{.over = "four_workers", .under = "one_pair", .bar = ">= 0.5"}}});
}

}  // namespace ring_bench
