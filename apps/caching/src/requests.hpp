// SPDX-License-Identifier: MIT
// Wire format: what caches ask the service threads of each other.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "dsfabric/call_context.hpp"
#include "wire.hpp"

namespace caching::detail {

class Node;

/// `node` of each request is the address of the Node there, which all processes have told each
/// other; it lives as long as the fabric. Requests have names, so that different programs of a job
/// understand each other.
struct StoreRequest {
  static constexpr std::string_view kCallName = "cariama.caching.store";
  /// What it is answered with.
  struct Answer {
    /// Where it is now; 0: it was not stored.
    Word word;
    /// The key was invalidated after the ticket.
    std::uint64_t outdated;
  };
  std::uint64_t node;
  std::uint64_t units;
  /// The block, in the memory of who asks.
  std::uint32_t block;
  std::uint32_t unused;
  Answer operator()(dsfabric::CallContext& call) const;
};

/// The two rounds of an invalidation, and the news of who is late and who is not any more.
struct InvalidateRequest {
  static constexpr std::string_view kCallName = "cariama.caching.invalidate";
  static constexpr std::size_t kMostFailed = 32;
  static constexpr std::size_t kMostLate = 32;
  enum class Round : std::uint32_t {
    /// Count it in the bucket, so that no put with an older ticket comes any more.
    kCount,
    /// Take the documents out.
    kDrop,
    /// Nothing: only for the lists below.
    kNews,
  };
  std::uint64_t node;
  std::uint64_t key_hash;
  Round round;
  /// Of `failed`.
  std::uint32_t failures;
  /// Processes that are not asked: nobody reads from them any more.
  std::array<std::uint16_t, kMostFailed> failed;
  /// Of the list of this process; later ones are greater.
  std::uint64_t late_version;
  /// Of `late`.
  std::uint32_t lates;
  std::uint32_t unused;
  /// Processes that have not answered: their documents are not read until they have forgotten them.
  std::array<std::uint16_t, kMostLate> late;
  bool operator()(dsfabric::CallContext& call) const;
};

/// Asks a process that may have missed invalidations to drop all documents, and to count all
/// buckets, so that no put with an older ticket comes any more.
struct ForgetRequest {
  static constexpr std::string_view kCallName = "cariama.caching.forget";
  std::uint64_t node;
  bool operator()(dsfabric::CallContext& call) const;
};

}  // namespace caching::detail
