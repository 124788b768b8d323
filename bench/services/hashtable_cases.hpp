// SPDX-License-Identifier: MIT
// What the sources of the hashtable's cases share.
#pragma once

#include "bench/services/cases.hpp"
#include "bench/services/hashtable_fixture.hpp"

namespace services_bench {

/// Brings the lines of 1024 buckets of the other part into the cache of this core, to be written.
void own_lines(dsfabric::Thread& self, Table& table);

/// Finds in Mode::kCached, which hit or miss.
void add_cache_cases(bench::Suite& suite, const fabric_bench::NodePtr& node);

/// The cost model's prediction beside what was measured.
void add_cost_cases(bench::Suite& suite, const fabric_bench::NodePtr& node);

}  // namespace services_bench
