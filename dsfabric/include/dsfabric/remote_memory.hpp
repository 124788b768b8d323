// SPDX-License-Identifier: MIT
// The owning handle on registered memory that lives in another process.
#pragma once

#include <cstdint>
#include <utility>

#include "dsfabric/ids.hpp"
#include "dtutils/memory_region.hpp"

namespace dsfabric {

class Fabric;

/// Memory that Fabric::allocate_remote obtained. When the handle is destroyed, a message gives the
/// memory back to its owner; the destructor does not wait. Memory of a failed process is gone
/// anyway. The bytes are as the last user left them. Before it is freed, whatever was posted on it
/// must be done (Transmitter::flush). Owner thread only; the fabric outlives it.
class RemoteMemory {
 public:
  /// An empty handle.
  RemoteMemory() noexcept = default;
  /// For Fabric::allocate_remote.
  RemoteMemory(Fabric& fabric, const dtutils::RemoteMemoryLocator& where,
               std::uint64_t handle) noexcept
      : fabric_(&fabric), where_(where), handle_(handle) {}
  /// Takes the memory over; `other` is empty afterwards.
  RemoteMemory(RemoteMemory&& other) noexcept
      : fabric_(std::exchange(other.fabric_, nullptr)),
        where_(other.where_),
        handle_(other.handle_) {}
  /// Frees the memory of this handle, and takes over that of `other`.
  RemoteMemory& operator=(RemoteMemory&& other) noexcept {
    RemoteMemory moved(std::move(other));
    std::swap(fabric_, moved.fabric_);
    std::swap(where_, moved.where_);
    std::swap(handle_, moved.handle_);
    return *this;
  }
  RemoteMemory(const RemoteMemory&) = delete;
  RemoteMemory& operator=(const RemoteMemory&) = delete;
  ~RemoteMemory() { reset(); }

  /// Whether it holds memory.
  explicit operator bool() const noexcept { return fabric_ != nullptr; }
  /// Address, key and owner: target of one-sided operations of any process.
  const dtutils::RemoteMemoryLocator& locator() const noexcept { return where_; }
  /// The process that the memory lives in.
  ProcessId process() const noexcept { return {where_.process}; }

  /// Frees it now.
  void reset() noexcept;

 private:
  Fabric* fabric_ = nullptr;
  dtutils::RemoteMemoryLocator where_{};
  /// Names the piece at its owner.
  std::uint64_t handle_ = 0;
};

}  // namespace dsfabric
