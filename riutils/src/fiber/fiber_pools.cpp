// SPDX-License-Identifier: MIT
// FiberPools: the list.
#include "fiber/fiber_pools.hpp"

#include "riutils/fiber_pool.hpp"

namespace riutils::detail {

std::shared_ptr<FiberPools> FiberPools::of(dsfabric::Fabric& fabric) {
  static constexpr char kKey = 0;
  return std::static_pointer_cast<FiberPools>(fabric.attachment(
      &kKey,
      [](dsfabric::Fabric&) -> std::shared_ptr<void> { return std::make_shared<FiberPools>(); }));
}

void FiberPools::add(const FiberPool& pool) {
  const std::scoped_lock lock(mutex_);
  all_.push_back(&pool);
}

void FiberPools::remove(const FiberPool& pool) noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase(all_, &pool);
}

std::uint64_t FiberPools::unfinished(
    std::span<const dsfabric::ProcessId> processes) const noexcept {
  const std::scoped_lock lock(mutex_);
  std::uint64_t sum = 0;
  for (const FiberPool* const pool : all_) sum += pool->unfinished(processes);
  return sum;
}

}  // namespace riutils::detail
