// SPDX-License-Identifier: MIT
// The cases of dtutils_bench; bench/README.md says what each of them measures.
#pragma once

#include "bench/dtutils/ends.hpp"

namespace link_bench {

/// Add the cases of one source file each. `ends` outlives the suite.
void add_rate_cases(bench::Suite& suite, const EndsPtr& ends);
void add_latency_cases(bench::Suite& suite, const EndsPtr& ends);
void add_memcpy_cases(bench::Suite& suite, const EndsPtr& ends);
void add_thread_cases(bench::Suite& suite, const EndsPtr& ends);

}  // namespace link_bench
