// SPDX-License-Identifier: MIT
// Ties a Synchronizer that a peer will decrement to the life of that peer.
#pragma once

#include <cstdint>

#include "dsfabric/ids.hpp"
#include "dtutils/synchronizer.hpp"

namespace dsfabric {
class Fabric;
class PendingTable;
}  // namespace dsfabric

namespace dsfabric::detail {

/// While it lives, a failure of `peer` fails all that is still pending on `synchronizer`, so that
/// its waiter ends. For a Synchronizer whose pending operations are all ended by that peer (a
/// reply, a remote notification): make it before the request is sent, destroy it when the wait is
/// over, before the Synchronizer goes. When the peer has failed already, the constructor does it.
///
/// After a failure nothing of that peer arrives any more: its queue pairs are broken on this side
/// before the Synchronizer fails. A reply that had arrived before stays a success.
///
/// Any thread; lock-free, about one compare-and-swap.
class PendingReply {
 public:
  /// Ties `synchronizer` to the life of `peer`.
  PendingReply(Fabric& fabric, ProcessId peer, dtutils::Synchronizer& synchronizer) noexcept;
  PendingReply(const PendingReply&) = delete;
  PendingReply& operator=(const PendingReply&) = delete;
  ~PendingReply();

  /// False: everything pending was failed, because the peer has failed or left, or because 4096 of
  /// these live in the process. Then the request must not be sent.
  explicit operator bool() const noexcept { return tied_; }
  /// Its number among those of this process, by which detail::take_result finds it.
  std::uint32_t place() const noexcept { return slot_; }

 private:
  PendingTable& pending_;
  std::uint32_t slot_;
  bool tied_;
};

}  // namespace dsfabric::detail
