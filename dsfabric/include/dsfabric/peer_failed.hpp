// SPDX-License-Identifier: MIT
// What a blocking operation throws when a process that it needs is gone.
#pragma once

#include <string_view>

#include "dsfabric/ids.hpp"
#include "dtutils/error.hpp"

namespace dsfabric {

/// A peer is gone: killed, crashed, unreachable, or it broke the protocol. Survivors go on; only
/// operations that need the peer fail, collectives among them.
class PeerFailed : public dtutils::Error {
 public:
  /// `during` names the operation, `reason` says why the peer counts as gone.
  PeerFailed(ProcessId process, std::string_view during, std::string_view reason);
  /// The process that is gone.
  ProcessId process() const noexcept { return process_; }

 private:
  ProcessId process_;
};

}  // namespace dsfabric
