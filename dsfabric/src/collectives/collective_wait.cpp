// SPDX-License-Identifier: MIT
// CollectiveWait: why there are no more collectives.
#include "collectives/collective_wait.hpp"

#include <utility>

#include "dsfabric/peer_failed.hpp"

namespace dsfabric {
namespace {

constexpr const char* kDuring = "a collective operation";

}  // namespace

void CollectiveWait::throw_if_over() const {
  if (own_failure_.declared()) {
    throw PeerFailed(self_, kDuring, own_failure_.reason());
  }
  if (failures_.count() != 0) {
    const ProcessId first = failures_.first();
    throw PeerFailed(first, kDuring, failures_.reason(first));
  }
  if (broken_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(mutex_);
    std::rethrow_exception(broken_by_);
  }
}

void CollectiveWait::throw_left(ProcessId process) {
  throw PeerFailed(process, kDuring, "it has left without taking part");
}

void CollectiveWait::break_for_all(std::exception_ptr cause) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!broken_.load(std::memory_order_relaxed)) {
    broken_by_ = std::move(cause);
    // Release: pairs with throw_if_over.
    broken_.store(true, std::memory_order_release);
  }
}

}  // namespace dsfabric
