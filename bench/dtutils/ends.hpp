// SPDX-License-Identifier: MIT
// What dtutils_bench keeps open in each of its two processes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dtutils/transmitter.hpp"
#include "link.hpp"

namespace link_bench {

/// A Link and two Transmitters beside it, all connected with those of the other process.
struct Ends {
  Ends(bench::Channel& channel, const std::string& device)
      : link(channel, device),
        exclusive(link.pd, link.receives, dtutils::TransmitterOptions::for_threads(1)),
        shared(link.pd, link.receives),
        cores(channel.cores()) {
    connect(channel, exclusive);
    connect(channel, shared);
  }

  Link link;
  /// For one thread.
  dtutils::Transmitter exclusive;
  /// For dtutils::kSharingThreads threads, the default.
  dtutils::Transmitter shared;
  /// That the bench may use.
  std::vector<int> cores;
};

/// Empty until Suite::setup(); in each process its own.
using EndsPtr = std::unique_ptr<Ends>;

/// Add the cases of one file each. `ends` outlives the suite.
void add_rate_cases(bench::Suite& suite, const EndsPtr& ends);
void add_latency_cases(bench::Suite& suite, const EndsPtr& ends);
void add_memcpy_cases(bench::Suite& suite, const EndsPtr& ends);
void add_thread_cases(bench::Suite& suite, const EndsPtr& ends);

}  // namespace link_bench
