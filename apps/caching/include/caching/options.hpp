// SPDX-License-Identifier: MIT
// What a user may choose about a cache: how much memory, and how the nodes share it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace caching {

/// How the caches of a job work together (Narravula, Jin, Vaidyanathan, Panda, CCGrid 2006; paper
/// 003, section 5.1).
enum class Scheme : std::uint8_t {
  /// AC: each for itself.
  kAc,
  /// BCC: what a neighbour has is fetched from there, and a copy is kept.
  kBcc,
  /// CCWR: one copy in the caches of all proxies, at the process that the hash of the key chooses.
  kCcwr,
  /// MTACC: the same, with the memory of lenders too (CacheOptions::lends).
  kMtacc,
  /// HYBCC: one copy as MTACC; small documents that were asked for here again get a second one
  /// here, as with BCC, but no copy takes the memory of the only one of another document.
  kHybcc,
};

/// Which document makes room.
enum class Replacement : std::uint8_t {
  /// The one that was not asked for the longest.
  kLru,
  /// S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023): a small queue for what is new, from which
  /// only what was asked for again comes into the main queue, and the hashes of what has left the
  /// small one. It has fewer misses than LRU on web traces, because what is asked for once leaves
  /// early, and a hit changes one counter and no list.
  kS3Fifo,
};

/// How a document that was read from a neighbour is told from one that was torn by an eviction.
enum class Check : std::uint8_t {
  /// By the words in front of it and behind it where the device reads in order
  /// (dtutils::DeviceInfo::reads_in_order), else by its checksum too.
  kAuto,
  /// By its checksum too, whatever the device promises.
  kChecksum,
};

/// Of one Cache. `scheme` and `directory` are the same in all processes.
struct CacheOptions {
  /// Registered memory for documents in this process; at most 16 GiB.
  /// An eighth more is taken for what passes through.
  std::size_t bytes = std::size_t{64} << 20;
  /// How the caches work together.
  Scheme scheme = Scheme::kHybcc;
  /// What makes room for a new document.
  Replacement replacement = Replacement::kS3Fifo;
  /// How reads from neighbours are checked.
  Check check = Check::kAuto;
  /// This process is of another tier: it lends its memory (kMtacc, kHybcc). It may ask as well.
  bool lends = false;
  /// Entries of the directory in each process: about twice the documents that all caches together
  /// hold for each process. Rounded up to a power of two of at least 64.
  std::uint32_t directory = 1u << 16;
  /// kHybcc: larger documents never get a second copy.
  std::size_t small = std::size_t{32} << 10;
  /// How long a put or an invalidate waits for another process that has not failed.
  std::chrono::nanoseconds patience = std::chrono::seconds(2);
};

}  // namespace caching
