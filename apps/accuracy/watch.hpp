// SPDX-License-Identifier: MIT
// Reads of all schemes in turn, and how far they were from the truth.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "monitoring/monitoring.hpp"
#include "truth.hpp"

namespace accuracy {

/// A scheme by the paper's name for it.
struct NamedScheme {
  const char* name;
  monitoring::Scheme scheme;
};
inline constexpr std::array<NamedScheme, 4> kSchemes{{
    {"socket-async", monitoring::Scheme::kMessageAsync},
    {"socket-sync", monitoring::Scheme::kMessageSync},
    {"rdma-async", monitoring::Scheme::kRdmaAsync},
    {"rdma-sync", monitoring::Scheme::kRdmaSync},
}};

/// One read: when it was asked for, when it came, and what it said.
struct Sample {
  std::int64_t asked;
  std::int64_t came;
  Figures said;
};
/// Those of each scheme, in the order of kSchemes.
using Samples = std::array<std::vector<Sample>, kSchemes.size()>;

/// Reads a process by each scheme in turn, with pauses of `interval`, for that long. Throws
/// dtutils::Error when the process cannot be read. Owner thread only.
Samples watch(dsfabric::Fabric& fabric, dsfabric::ProcessId process, std::chrono::seconds duration,
              std::chrono::milliseconds interval);

/// What the reads of one scheme come to. Distances are those from what was true when the read was
/// asked for.
struct Result {
  std::uint64_t reads = 0;
  /// Reads that said what was true at no moment from the question to the answer.
  std::uint64_t untrue = 0;
  double took_median_us = 0, took_p99_us = 0;
  double threads_mean = 0, connections_mean = 0;
  std::uint64_t threads_most = 0, connections_most = 0;
  /// The mean distance of connections in each `kSlice` of the time.
  std::vector<double> connections_over_time;
};
inline constexpr std::chrono::milliseconds kSlice{250};

/// Sets reads beside the truth. `samples` is not empty.
Result compare(std::span<const Sample> samples, std::span<const Change> truth);

}  // namespace accuracy
