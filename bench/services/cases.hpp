// SPDX-License-Identifier: MIT
// The cases of services_bench, a function for each service; bench/README.md describes them.
#pragma once

#include <string>

#include "bench/fabric/node.hpp"
#include "bench/harness/bench.hpp"

namespace services_bench {

/// Add the cases of one service each. `node`: one worker in each process. It and `device`, for
/// cases that make nodes of their own while they run, outlive the suite.
void add_lock_cases(bench::Suite& suite, const fabric_bench::NodePtr& node,
                    const std::string& device);
void add_memory_cases(bench::Suite& suite, const std::string& device);
void add_hashtable_cases(bench::Suite& suite, const fabric_bench::NodePtr& node);
void add_monitoring_cases(bench::Suite& suite, const std::string& device);

}  // namespace services_bench
