// SPDX-License-Identifier: MIT
// The control blocks of the job: that of this process, and where the others are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dsfabric/ids.hpp"
#include "mesh/connections.hpp"
#include "mesh/control_block.hpp"

namespace dsfabric {

/// Any thread, wait-free.
class ControlBlocks {
 public:
  /// The block of this process, from the memory of `pages`. Setup only.
  ControlBlocks(dtutils::RDMAAllocator& pages, const ControlLayout& layout,
                Connections& connections)
      : own_(cleared(pages.allocate(ControlBlock::needed(layout))), layout),
        connections_(connections) {}

  ControlBlock& own() noexcept { return own_; }
  const ControlLayout& layout() const noexcept { return own_.layout(); }
  /// By process. Setup only.
  void set_peers(std::vector<dtutils::RemoteMemoryLocator> peers) { peers_ = std::move(peers); }

  /// Writes `length` bytes to the block of a peer, at `offset`, from `source` of the private half.
  /// False: its connection is broken.
  bool write(ThreadContext& context, ProcessId to, std::size_t offset, std::size_t source,
             std::size_t length) noexcept {
    dtutils::Transmitter& out = connections_.of(context, to);
    const unsigned flags =
        length <= out.queue_pair().max_inline() ? dtutils::kInlined : dtutils::kUnsignaled;
    return out.write(own_.source_buffer(source, static_cast<std::uint32_t>(length)),
                     peers_[to.value].part(offset, length), flags);
  }

 private:
  static dtutils::RDMAMemory cleared(dtutils::RDMAMemory memory) noexcept {
    std::memset(memory.data(), 0, memory.size());
    return memory;
  }

  ControlBlock own_;
  Connections& connections_;
  std::vector<dtutils::RemoteMemoryLocator> peers_;
};

}  // namespace dsfabric
