// SPDX-License-Identifier: MIT
// The cases of sst_bench; bench/sst/README.md says what each of them measures.
#pragma once

#include "bench/sst/node.hpp"

namespace sst_bench {

inline constexpr int kProcesses = 16;

/// Add the cases of one source file each. `node` outlives the suite.
void add_detect_cases(bench::Suite& suite, const NodePtr& node);
void add_evaluation_cases(bench::Suite& suite);
void add_push_cases(bench::Suite& suite, const NodePtr& node);
void add_counting_cases(bench::Suite& suite, const NodePtr& node);
void add_routing_cases(bench::Suite& suite, const NodePtr& node);

}  // namespace sst_bench
