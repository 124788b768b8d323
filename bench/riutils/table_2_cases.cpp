// SPDX-License-Identifier: MIT
// Table 2 of Seriema's paper: one call by each way, beside raw sends; and UCX's active messages.
#include <memory>

#include "riutils/cases.hpp"
#include "riutils/stream.hpp"

namespace ring_bench {
void add_table_2_cases(bench::Suite&, const fabric_bench::NodePtr&) {}
void add_all_to_all_case(bench::Suite&, const fabric_bench::NodePtr&, const std::string&) {}
}  // namespace ring_bench
