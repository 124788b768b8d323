// SPDX-License-Identifier: MIT
// How a search notices that a process is gone, and says so.
#pragma once

#include <cstdint>

#include "dsfabric/dsfabric.hpp"

namespace mcts {

/// Whether this process believes that a process of the job has failed or left. Any thread.
inline bool somebody_failed(const dsfabric::Fabric& fabric) noexcept {
  for (std::uint16_t p = 0; p < fabric.founders(); ++p) {
    if (fabric.state({p}) != dsfabric::PeerState::kActive) return true;
  }
  return false;
}

/// Throws PeerFailed, which names the process, or Error where a call failed for another reason.
/// Owner thread only.
[[noreturn]] inline void report_failure(dsfabric::Thread& self) {
  // Every collective finds out which process it is.
  self.barrier();
  throw dtutils::Error("search", "a call could not be made", "check the other processes");
}

}  // namespace mcts
