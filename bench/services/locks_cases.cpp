// SPDX-License-Identifier: MIT
// The cases of locks.
#include "bench/services/locks_cases.hpp"

namespace services_bench {

void add_lock_cases(bench::Suite& suite, const fabric_bench::NodePtr& node,
                    const std::string& device) {
  add_lock_latency_cases(suite, node);
  add_lock_cascade_case(suite, node);
  add_lock_contended_cases(suite, node, device);
}

}  // namespace services_bench
