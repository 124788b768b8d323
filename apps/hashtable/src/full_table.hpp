// SPDX-License-Identifier: MIT
// A table whose buckets are full, to measure what one block more takes.
#pragma once

#include <chrono>
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
  static constexpr std::uint32_t kBuckets = 256;

  /// A collective. `home`: whom this worker asks. Throws Error when there is no memory. Setup only.
  FullTable(dsfabric::Thread& self, dsfabric::ThreadId home);

  /// Nanoseconds of an insert into the next bucket, as a table makes it: the home makes a block
  /// behind that one. Before it nobody asks the service thread for so long. Throws Error when no
  /// bucket is left.
  double insert_ns(std::chrono::nanoseconds pause);

 private:
  void take_lines();
  void insert();

  dsfabric::Thread& self_;
  const dsfabric::ThreadId to_;
  detail::Home home_;
  dsfabric::GlobalPtr<detail::Home> there_;
  std::optional<detail::RemotePort> port_;
  std::uint64_t next_ = 0;
};

/// Not asleep itself: the core of the caller, and the other one, would fall asleep more deeply.
void stay_awake(std::chrono::nanoseconds pause);

}  // namespace hashtable::cost
