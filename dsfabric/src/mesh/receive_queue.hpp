// SPDX-License-Identifier: MIT
// Where the messages of all peers arrive: one shared receive queue, with its completions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dsfabric/config.hpp"
#include "dtutils/completion_queue.hpp"
#include "dtutils/shared_receive_queue.hpp"

namespace dsfabric {

/// Its buffers are those of the Receiver. It lives longer than the queue pairs that use it, and
/// they longer than the memory of the buffers.
struct ReceiveQueue {
  /// For `peer_queue_pairs` queue pairs. Throws Error. Setup only.
  ReceiveQueue(dtutils::ProtectionDomain& pd, const Config& config, std::uint32_t peer_queue_pairs)
      : depth(std::max(config.receive_depth, 1u)),
        channel(pd.device()),
        completions(pd.device(), depth + peer_queue_pairs + 1, &channel),
        queue(pd, depth) {}

  const std::uint32_t depth;
  dtutils::CompletionChannel channel;
  dtutils::CompletionQueue completions;
  dtutils::SharedReceiveQueue queue;
};

}  // namespace dsfabric
