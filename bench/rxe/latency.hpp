// SPDX-License-Identifier: MIT
// Latencies measured step by step as perftest's programs do it, so that the two can be compared.
#pragma once

#include <cstdint>

#include "bench/dtutils/link.hpp"

namespace link_bench {

/// Ping-pongs of batch.iterations() rounds, which both processes run. Every request is signaled and
/// its completion awaited after the post, while the message travels. They return half of the median
/// of the times from one post to the next, in ns: perftest's t_typical. A payload has at least 8
/// bytes; the last 8 are a counter.

/// As run_iter_lat_write() in perftest_resources.c: the receiver polls the end of its buffer.
double write_latency(Link& link, bench::Batch& batch, std::uint32_t size);
/// As run_iter_lat_send(): a receive is posted again before the answer goes out.
double send_latency(Link& link, bench::Batch& batch, std::uint32_t size);

/// Receives that are posted ahead.
inline constexpr std::uint64_t kReceivesAhead = 64;

}  // namespace link_bench
