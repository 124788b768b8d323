// SPDX-License-Identifier: MIT
// One end of a connection with all that belongs to it, and two of them connected to each other.
#pragma once

#include <cstring>
#include <memory>
#include <span>

#include "dtutils/queue_pair.hpp"
#include "dtutils/shared_segment.hpp"
#include "support/completions.hpp"
#include "support/device_under_test.hpp"
#include "support/patterns.hpp"

namespace support {

struct SideOptions {
  dtutils::QueuePairOptions queue_pair;
  std::uint32_t completions = 1024;
  std::size_t memory = 64 << 10;
  /// Rights of the region.
  int access = dtutils::kAccessAll;
  /// Depth of a shared receive queue that the queue pair draws from; 0: none.
  std::uint32_t shared_receives = 0;
};

/// Protection domain, completion queues with a channel each, a registered segment (zeroed) and an
/// unconnected queue pair.
class Side {
 public:
  explicit Side(dtutils::Device& device, const SideOptions& options = {});

  std::span<std::byte> bytes() const noexcept { return {segment.data(), segment.size()}; }
  /// The T at byte `offset` of the memory.
  template <class T>
  T& at(std::size_t offset) const noexcept {
    return *reinterpret_cast<T*>(segment.data() + offset);
  }
  dtutils::LocalBuffer local(std::size_t offset, std::size_t length) const noexcept {
    return region.local(offset, static_cast<std::uint32_t>(length));
  }
  dtutils::RemoteMemoryLocator remote(std::size_t offset, std::size_t length) const noexcept {
    return region.remote().part(offset, length);
  }

  dtutils::ProtectionDomain pd;
  dtutils::CompletionChannel send_channel;
  dtutils::CompletionChannel receive_channel;
  dtutils::CompletionQueue sends;
  dtutils::CompletionQueue receives;
  dtutils::SharedSegment segment;
  dtutils::MemoryRegion region;
  std::unique_ptr<dtutils::SharedReceiveQueue> shared_receives;
  dtutils::QueuePair qp;
};

/// Connects both ways.
void connect(dtutils::QueuePair& one, dtutils::QueuePair& other);

/// Two connected sides on one opened device. By convention `a` acts and `b` is acted on.
class Pair {
 public:
  explicit Pair(const SideOptions& both = {}) : Pair(both, both) {}
  Pair(const SideOptions& options_a, const SideOptions& options_b);

  std::unique_ptr<dtutils::Device> device;
  Side a;
  Side b;
};

}  // namespace support
