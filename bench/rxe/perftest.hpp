// SPDX-License-Identifier: MIT
// perftest's programs as yardsticks, with the settings of our own side.
#pragma once

#include <cstdint>
#include <string>

#include "bench/dtutils/link.hpp"

namespace link_bench {

/// The figure of one run, server and client on this host and on the device, port, GID and MTU of
/// `link`, with as many iterations as our own side makes in that batch. Throws bench::Skip when the
/// program is not installed or fails.

/// t_typical of ib_write_lat or ib_send_lat, in ns.
double perftest_latency(const Link& link, const bench::Batch& batch, const std::string& program,
                        std::uint32_t size);
/// The mean of ib_write_bw in B/s, with the depth and the signaling of HandSignaling.
double perftest_bandwidth(const Link& link, const bench::Batch& batch, std::uint32_t size);

}  // namespace link_bench
