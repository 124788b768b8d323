// SPDX-License-Identifier: MIT
// Owner of a memory registration, and the small values that name parts of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dtutils/protection_domain.hpp"

namespace dtutils {

/// Rights of the usual region: local write, remote read, write and atomics.
inline constexpr int kAccessAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
/// Rights of memory that cannot be the target of remote atomics on shm (heap, stack, files).
inline constexpr int kAccessReadWrite =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

/// A piece of local registered memory: one scatter/gather element.
struct LocalBuffer {
  /// Its first byte.
  void* address = nullptr;
  /// Bytes.
  std::uint32_t length = 0;
  /// The local key of its region.
  std::uint32_t lkey = 0;
};

/// A piece of registered memory of another process: what a peer must know to read or write it.
/// Trivially copyable: send it as it is.
struct RemoteMemoryLocator {
  /// Its first byte, in the address space of that process.
  std::uint64_t address = 0;
  /// Bytes.
  std::uint64_t length = 0;
  /// The remote key of its region.
  std::uint32_t rkey = 0;
  /// Where it lives; the layer above decides the meaning (DSfabric: the owning process).
  std::uint16_t process = 0;
  /// NUMA zone in that process' machine.
  std::uint16_t zone = 0;

  /// The part [offset, offset + size) of this piece. Not checked here: the device checks every
  /// remote access against the region.
  RemoteMemoryLocator part(std::uint64_t offset, std::uint64_t size) const noexcept {
    return {address + offset, size, rkey, process, zone};
  }
};
static_assert(sizeof(RemoteMemoryLocator) == 24 &&
              std::is_trivially_copyable_v<RemoteMemoryLocator>);

/// Owns one registration (ibv_reg_mr(3)). The memory itself belongs to the caller and must outlive
/// it. Setup only; the accessors may be used by any thread.
class MemoryRegion {
 public:
  /// Registers [address, address + length). Throws Error, see Device::reg_mr.
  MemoryRegion(ProtectionDomain& pd, void* address, std::size_t length, int access = kAccessAll)
      : device_(pd.device()), mr_(device_.reg_mr(pd.raw(), address, length, access)) {}
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;
  ~MemoryRegion() { device_.dereg_mr(mr_); }

  /// The first byte.
  std::byte* data() const noexcept { return static_cast<std::byte*>(mr_->addr); }
  /// Bytes.
  std::size_t size() const noexcept { return mr_->length; }
  /// The key for work requests of this process.
  std::uint32_t lkey() const noexcept { return mr_->lkey; }
  /// The key for work requests of peers.
  std::uint32_t rkey() const noexcept { return mr_->rkey; }

  /// A part as local side of a work request. Not checked here: the device does.
  LocalBuffer local(std::size_t offset, std::uint32_t length) const noexcept {
    return {data() + offset, length, mr_->lkey};
  }
  /// What a peer needs to reach all of it.
  RemoteMemoryLocator remote() const noexcept {
    return {reinterpret_cast<std::uint64_t>(mr_->addr), mr_->length, mr_->rkey, 0, 0};
  }

 private:
  Device& device_;
  ibv_mr* mr_;
};

}  // namespace dtutils
