// SPDX-License-Identifier: MIT
// UCX over shared memory as a yardstick: its own bench program, Debian's ucx_perftest.
#pragma once

#include <cstdint>

#include "bench/dtutils/ends.hpp"

namespace link_bench {

/// Variants named "ucx_put". Skipped, with a note, where ucx_perftest is not installed and when the
/// bench runs on another device than shm, since UCX then moves its bytes by other means.

/// One way of a ping-pong of puts, in ns.
bench::Variant ucx_put_latency(const EndsPtr& ends, std::uint32_t size);
/// Puts a second, in one direction.
bench::Variant ucx_put_rate(const EndsPtr& ends, std::uint32_t size);

}  // namespace link_bench
