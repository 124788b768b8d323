// SPDX-License-Identifier: MIT
// The cases of dsfabric_bench.
#pragma once

#include "bench/fabric/node.hpp"

namespace fabric_bench {

void add_call_cases(bench::Suite& suite, const NodePtr& node);
void add_barrier_cases(bench::Suite& suite, const NodePtr& node);
void add_start_cases(bench::Suite& suite);

}  // namespace fabric_bench
