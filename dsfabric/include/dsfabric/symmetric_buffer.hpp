// SPDX-License-Identifier: MIT
// Registered memory of one size on every worker; each worker knows the addresses of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dsfabric/thread.hpp"
#include "dtutils/rdma_memory.hpp"

namespace dsfabric {

/// The target of broadcast_buffer, and of one-sided operations. Made and destroyed by all workers
/// (a collective); call a barrier before the destruction, so that no worker writes into memory that
/// is gone. Owner thread only.
class SymmetricBuffer {
 public:
  /// Throws Error when there is no registered memory left, or another worker gives another size;
  /// PeerFailed as any collective.
  SymmetricBuffer(Thread& self, std::size_t bytes);
  SymmetricBuffer(const SymmetricBuffer&) = delete;
  SymmetricBuffer& operator=(const SymmetricBuffer&) = delete;

  /// The piece of this worker.
  const dtutils::RDMAMemory& memory() const noexcept { return memory_; }
  /// The piece of this worker.
  std::byte* data() const noexcept { return memory_.data(); }
  /// Bytes of each piece.
  std::size_t size() const noexcept { return size_; }
  /// The piece of another worker.
  const dtutils::RemoteMemoryLocator& at(ThreadId thread) const noexcept {
    return all_[fabric_.rank_of(thread)].memory;
  }
  /// The address of the other worker's SymmetricBuffer, in its process.
  std::uint64_t there(ThreadId thread) const noexcept {
    return all_[fabric_.rank_of(thread)].object;
  }

 private:
  struct Place {
    dtutils::RemoteMemoryLocator memory;
    std::uint64_t object;
    std::uint64_t bytes;
  };
  Fabric& fabric_;
  std::size_t size_;
  dtutils::RDMAMemory memory_;
  std::vector<Place> all_;
};

}  // namespace dsfabric
