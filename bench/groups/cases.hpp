// SPDX-License-Identifier: MIT
// The cases of groups_bench; bench/README.md says what each of them measures.
#pragma once

#include "bench/riutils/hand_ring.hpp"
#include "bench/sst/node.hpp"

namespace groups_bench {

using sst_bench::NodePtr;

inline constexpr int kProcesses = 8;

/// Add the cases of one source file each. `node` and `ring` outlive the suite.
void add_small_cases(bench::Suite& suite, const NodePtr& node, const ring_bench::HandRing& ring);
void add_bandwidth_cases(bench::Suite& suite, const NodePtr& node);
void add_atomic_cases(bench::Suite& suite, const NodePtr& node);
void add_crowd_cases(bench::Suite& suite, const NodePtr& node);
void add_large_cases(bench::Suite& suite, const NodePtr& node);
void add_view_cases(bench::Suite& suite, const NodePtr& node);
void add_log_cases(bench::Suite& suite);

}  // namespace groups_bench
