// SPDX-License-Identifier: MIT
// One process of the job as this one sees it: who it is, the connections to it, and how it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "dtutils/transmitter.hpp"

namespace dsfabric {

struct Peer {
  ProcessInfo info;
  std::vector<dtutils::NumaZone> worker_zones;
  /// Rank of its worker 0 among all workers.
  std::uint32_t first_rank = 0;
  /// Its control block.
  dtutils::RemoteMemoryLocator control;
  /// ThreadContext i uses number i modulo their count.
  std::vector<std::unique_ptr<dtutils::Transmitter>> transmitters;

  /// Set once, by Failures; every send looks at it.
  std::atomic<PeerState> state{PeerState::kActive};

  bool active() const noexcept {
    // Acquire: pairs with Failures, so that the reason is known to whoever is refused.
    return state.load(std::memory_order_acquire) == PeerState::kActive;
  }
  /// Some connection to it is broken, or about to be. Any thread.
  bool broken() const noexcept {
    for (const auto& transmitter : transmitters) {
      if (transmitter->broken() || transmitter->queue_pair().state() == IBV_QPS_ERR) {
        return true;
      }
    }
    return false;
  }
};

}  // namespace dsfabric
