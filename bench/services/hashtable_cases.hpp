// SPDX-License-Identifier: MIT
// What the sources of the hashtable's cases share.
#pragma once

#include "bench/services/cases.hpp"
#include "bench/services/hashtable_fixture.hpp"

namespace services_bench {

/// Brings the lines of 1024 buckets of the other part into the cache of this core, to be written.
void own_lines(dsfabric::Thread& self, Table& table);

/// Runs `work` on the worker of each process, before the first or after the last batch.
template <class Work>
auto collectively(const fabric_bench::NodePtr& node, Work work) {
  return [&node, work](bench::Channel&) {
    node->run([&](dsfabric::Thread& self) {
      work(self);
      return 0.0;
    });
  };
}

/// Finds in Mode::kCached, which hit or miss.
void add_cache_cases(bench::Suite& suite, const fabric_bench::NodePtr& node);

/// Operations a second of both processes, 95 % of them finds.
void add_rate_cases(bench::Suite& suite, const fabric_bench::NodePtr& node);

/// Entries of variable size, one by one and in batches.
void add_pieces_cases(bench::Suite& suite, const fabric_bench::NodePtr& node);

/// The cost model's prediction beside what was measured.
void add_cost_cases(bench::Suite& suite, const fabric_bench::NodePtr& node);

}  // namespace services_bench
