// SPDX-License-Identifier: MIT
// What happened on the rings of one thread, in numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsfabric/ids.hpp"

namespace riutils {

/// Of one ring, as its sender counts.
struct OutgoingCounters {
  dsfabric::ThreadId to;
  /// It carries results of calls; they count as calls.
  bool results = false;
  /// Made by the caller, sent or not.
  std::uint64_t calls = 0;
  /// Of records, with their headers, sent or not.
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
  std::uint64_t held = 0;
  /// Bytes of such chunks that waited at a time, at most.
  std::uint64_t held_most = 0;
};

/// Of one ring, as its receiver counts.
struct IncomingCounters {
  dsfabric::ThreadId from;
  bool results = false;
  std::uint64_t calls = 0;
  /// Headers: a run of equal calls is one.
  std::uint64_t records = 0;
  std::uint64_t chunks_consumed = 0;
};

struct Counters {
  dsfabric::ThreadId thread;
  std::vector<OutgoingCounters> outgoing;
  std::vector<IncomingCounters> incoming;

  /// One line a ring, with a head line; those of results have an "r" behind the thread. Setup only.
  std::string table() const;
  /// An object with the arrays "outgoing" and "incoming". Setup only.
  std::string json() const;
};

}  // namespace riutils
