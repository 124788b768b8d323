// SPDX-License-Identifier: MIT
// Calls that wait at their sender until the ring has room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "dtutils/rdma_memory.hpp"
#include "dtutils/synchronizer.hpp"

namespace riutils::detail {

/// A queue of chunks in local memory. Calls are serialized into the last one; the first one becomes
/// the mirror of the next remote chunk that is free, so nothing is copied again.
///
/// Owner thread only.
class CallQueue {
 public:
  struct Chunk {
    dtutils::RDMAMemory memory;
    /// Its lowest serialized byte, once the next one is being filled.
    std::byte* low = nullptr;
    /// To be told when these calls are sent.
    std::vector<dtutils::Synchronizer*> sent = {};
  };

  bool empty() const noexcept { return chunks_.empty(); }
  std::size_t size() const noexcept { return chunks_.size(); }
  /// The next calls go into `memory`. `low`: where those in the chunk before it, if any, end.
  void push(dtutils::RDMAMemory memory, std::byte* low) {
    if (!chunks_.empty()) chunks_.back().low = low;
    chunks_.push_back({std::move(memory)});
  }
  /// Of the call that was serialized last.
  void tell(dtutils::Synchronizer& sent) { chunks_.back().sent.push_back(&sent); }
  /// The first chunk; only if not empty().
  Chunk pop() noexcept {
    Chunk first = std::move(chunks_.front());
    chunks_.pop_front();
    return first;
  }
  /// The calls are lost, for the peer is gone.
  void fail() noexcept {
    for (const Chunk& chunk : chunks_) {
      for (dtutils::Synchronizer* const each : chunk.sent) each->fail();
    }
    chunks_.clear();
  }

 private:
  std::deque<Chunk> chunks_;
};

}  // namespace riutils::detail
