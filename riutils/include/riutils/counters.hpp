// SPDX-License-Identifier: MIT
// What happened on the rings of one thread, in numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsfabric/ids.hpp"

namespace riutils {

/// The counters of one ring at its sender.
struct OutgoingCounters {
  /// The receiving worker.
  dsfabric::ThreadId to;
  /// It carries results of calls; they count as calls.
  bool results = false;
  /// Calls that were made, sent or not.
  std::uint64_t calls = 0;
  /// Bytes of records with their headers, sent or not.
  std::uint64_t bytes = 0;
  /// RDMA writes posted.
  std::uint64_t writes = 0;
  /// Chunks that the ring has.
  std::uint32_t chunks = 0;
  /// Chunks left because they were full.
  std::uint64_t chunks_filled = 0;
  /// Times that the ring was found full.
  std::uint64_t stalls = 0;
  /// Steps of progress made while a call waited for room.
  std::uint64_t retries = 0;
  /// Chunks filled at the sender while the ring was full.
  std::uint64_t queued = 0;
  /// Bytes of such chunks that waited at a time, at most.
  std::uint64_t max_queued = 0;
};

/// The counters of one ring at its receiver.
struct IncomingCounters {
  /// The sending worker.
  dsfabric::ThreadId from;
  /// It carries results of calls; they count as calls.
  bool results = false;
  /// Calls that have run.
  std::uint64_t calls = 0;
  /// Headers: a run of equal calls is one.
  std::uint64_t records = 0;
  /// Chunks given back to the sender.
  std::uint64_t chunks_consumed = 0;
};

/// All rings of one worker.
struct Counters {
  /// The worker.
  dsfabric::ThreadId thread;
  /// The rings that it sends into.
  std::vector<OutgoingCounters> outgoing;
  /// The rings that lead to it.
  std::vector<IncomingCounters> incoming;

  /// One line a ring, with a head line; those of results have an "r" behind the thread. Setup only.
  std::string table() const;
  /// An object with the arrays "outgoing" and "incoming". Setup only.
  std::string json() const;
};

}  // namespace riutils
