// SPDX-License-Identifier: MIT
// UCX over shared memory as a yardstick: its own bench program, Debian's ucx_perftest.
#pragma once

#include <cstdint>

#include "bench/harness/batch.hpp"

namespace bench {

/// Runs `test` with messages of `size` bytes and returns the figure that `pattern` finds, times
/// `scale`. As run_external. Its last line reads: Final: iterations, three latencies in us (median,
/// average, overall), two bandwidths, two rates in 1/s (average, overall). "Overall" is the mean,
/// as our figures are.
double run_ucx(const Batch& batch, const char* test, std::uint64_t size, const char* pattern,
               double scale);

/// The overall latency, in ns: pattern and scale.
inline constexpr const char* kUcxLatency = R"(Final:(?:\s+\S+){3}\s+(\S+))";
inline constexpr double kUcxLatencyScale = 1e3;
/// The overall rate a second.
inline constexpr const char* kUcxRate = R"(Final:(?:\s+\S+){7}\s+(\S+))";

}  // namespace bench
