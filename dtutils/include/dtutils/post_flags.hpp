// SPDX-License-Identifier: MIT
// Flags of one work request, for QueuePair and Transmitter.
#pragma once

#include <infiniband/verbs.h>

namespace dtutils {

/// Flags of one work request; combine with |.
enum PostFlags : unsigned {
  /// No completion, unless the request fails.
  kUnsignaled = 0,
  /// Makes a completion.
  kSignaled = IBV_SEND_SIGNALED,
  /// The bytes are copied by the post itself: the local buffer needs no lkey and may be reused at
  /// once. At most QueuePair::max_inline() bytes.
  kInlined = IBV_SEND_INLINE,
  /// Waits for earlier reads and atomics of this queue pair.
  kFenced = IBV_SEND_FENCE,
  /// Raises an event at a peer that armed its queue for solicited completions only.
  kSolicited = IBV_SEND_SOLICITED,
};

}  // namespace dtutils
