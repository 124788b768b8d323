// SPDX-License-Identifier: MIT
// A table whose buckets are full, to measure what one block more takes.
#pragma once

#include <cstdint>
#include <optional>

#include "dsfabric/global_ptr.hpp"
#include "dsfabric/thread.hpp"
#include "hashtable/detail/home.hpp"
#include "hashtable/detail/ports.hpp"

namespace hashtable::cost {

/// Each worker has a part of full buckets, and asks another one for blocks behind those. Owner
/// thread only; throws PeerFailed.
class FullTable {
 public:
  /// How often make_block() may be called.
  static constexpr std::uint32_t kBuckets = 128;

  /// A collective. `home`: whom this worker asks. Throws Error when there is no memory. Setup only.
  FullTable(dsfabric::Thread& self, dsfabric::ThreadId home);

  /// Makes this worker the last one that wrote each line of the next bucket.
  void take_lines();
  /// What an insert into a full bucket does from its request for room on, without its looks into
  /// the directory: the home makes a block behind the next bucket; this worker reads both, and
  /// claims a slot. Throws Error when no bucket is left.
  void make_block();

 private:
  dsfabric::Thread& self_;
  const dsfabric::ThreadId to_;
  detail::Home home_;
  dsfabric::GlobalPtr<detail::Home> there_;
  std::optional<detail::RemotePort> port_;
  std::uint64_t next_ = 0;
};

}  // namespace hashtable::cost
