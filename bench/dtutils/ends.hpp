// SPDX-License-Identifier: MIT
// What a bench of DTutils keeps open in each of its two processes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/dtutils/link.hpp"
#include "dtutils/transmitter.hpp"

namespace link_bench {

/// A Link and two Transmitters beside it, all connected with those of the other process.
struct Ends {
  Ends(bench::Channel& channel, const std::string& device,
       const dtutils::QueuePairOptions& options = {.exclusive = true})
      : link(channel, device, options),
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

}  // namespace link_bench
