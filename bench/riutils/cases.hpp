// SPDX-License-Identifier: MIT
// The cases of riutils_bench; bench/README.md says what each of them measures.
#pragma once

#include "bench/fabric/node.hpp"
#include "bench/riutils/hand_ring.hpp"

namespace ring_bench {

/// Add the cases of one source file each. `node` and `ring` outlive the suite.
void add_rate_cases(bench::Suite& suite, const fabric_bench::NodePtr& node, const HandRing& ring);
void add_table_2_cases(bench::Suite& suite, const fabric_bench::NodePtr& node);
void add_latency_cases(bench::Suite& suite, const fabric_bench::NodePtr& node);
/// `four`: two workers in each process.
void add_all_to_all_case(bench::Suite& suite, const fabric_bench::NodePtr& pair,
                         const fabric_bench::NodePtr& four);
void add_call_return_cases(bench::Suite& suite, const fabric_bench::NodePtr& node);
void add_fiber_cases(bench::Suite& suite, const fabric_bench::NodePtr& node);

}  // namespace ring_bench
