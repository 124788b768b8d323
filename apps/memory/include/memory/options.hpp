// SPDX-License-Identifier: MIT
// What a user may choose: how much memory, where, how it is read and written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dsfabric/ids.hpp"

namespace memory {

/// The same in all processes of the job.
struct SpaceOptions {
  /// Registered memory that each process gives, in each of its NUMA zones. It stays the same.
  std::size_t bytes = std::size_t{64} << 20;
};

/// Of one Client.
struct ClientOptions {
  /// Bytes of segments that it keeps copies of; 0: 30 % of SpaceOptions::bytes. Memory is taken as
  /// the cache fills. A segment of more than half of it is not cached.
  std::size_t cache_bytes = 0;
  /// Segments that it may be subscribed to at a time, kMaxSubscriptions at most. Each takes 16
  /// bytes, whether it is used or not.
  std::uint32_t subscriptions = 1024;
};
/// See ClientOptions.
inline constexpr std::uint32_t kMaxSubscriptions = 1 << 24;

/// Where a segment is to live. From the functions below.
struct Placement {
  /// Which of them.
  enum class Where : std::uint8_t { kHere, kThere, kSpread, kNear };
  /// Which of them.
  Where where = Where::kHere;
  /// For kThere and kNear.
  dsfabric::ThreadId thread{};
};
/// In the calling process, near the calling worker.
inline Placement here() noexcept { return {}; }
/// In that process.
inline Placement there(dsfabric::ProcessId process) noexcept {
  return {Placement::Where::kThere, {process, 0}};
}
/// In all processes in turn, those that have failed left out.
inline Placement spread() noexcept { return {Placement::Where::kSpread, {}}; }
/// In the process and NUMA zone of that worker, which exists: else the allocation is an Error.
inline Placement near(dsfabric::ThreadId thread) noexcept {
  return {Placement::Where::kNear, thread};
}

/// How a versioned segment is read. All three give a value that was current at some moment between
/// the call and its return, and never one that is half written.
enum class ReadMode : std::uint8_t {
  /// One RDMA read that brings data and versions; it is repeated when a writer was at work.
  kValidated,
  /// From the cache when one 8-byte RDMA read finds the version that is cached; else the segment is
  /// locked for reading, read and cached.
  kCached,
  /// From the cache without any operation while the home has not said otherwise: it writes new
  /// versions of the segment into memory of this process before it answers the writer. The first
  /// read of a segment, and each one after a write of it, goes to the home.
  kSubscribed,
};

/// How a versioned segment is written.
enum class WriteMode : std::uint8_t {
  /// The home executes it, in the order in which the requests of one Client came.
  kByCall,
  /// This Client locks the segment by one atomic, writes it by RDMA and unlocks it. It goes by call
  /// where the segment has subscribers, and where it would take too many operations (devices
  /// without DeviceInfo::reads_in_order, more than a few cache lines).
  kOneSided,
};

/// How to write.
struct WriteOptions {
  /// Which way.
  WriteMode mode = WriteMode::kByCall;
  /// The request carries the vector clock of this process (Space::clock), and its home executes it
  /// after all causal requests that happened before it. Always by call.
  bool causal = false;
};

}  // namespace memory
