// SPDX-License-Identifier: MIT
// All fiber pools of a process: how many of its calls wait.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dsfabric/fabric.hpp"

namespace riutils {

class FiberPool;

namespace detail {

/// One a process, kept by its fabric. Any thread (takes a lock).
class FiberPools {
 public:
  static std::shared_ptr<FiberPools> of(dsfabric::Fabric& fabric);

  void add(const FiberPool& pool);
  void remove(const FiberPool& pool) noexcept;
  /// The sum over all pools of FiberPool::unfinished.
  std::uint64_t unfinished(std::span<const dsfabric::ProcessId> processes) const noexcept;

 private:
  mutable std::mutex mutex_;
  std::vector<const FiberPool*> all_;
};

}  // namespace detail
}  // namespace riutils
