// SPDX-License-Identifier: MIT
// OwnFailure: first the threads of this process, then the peers.
#include "failure/own_failure.hpp"

namespace dsfabric {

void OwnFailure::declare(std::string_view reason) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (declared_.load(std::memory_order_relaxed)) {
      return;
    }
    reason_ = reason;
    // Release: pairs with the readers of the reason.
    declared_.store(true, std::memory_order_release);
  }
  failures_.declare(self_, reason);
  notices_.tell(EndNotice::kFailed, reason);
}

std::string OwnFailure::reason() const {
  const std::scoped_lock lock(mutex_);
  return reason_;
}

}  // namespace dsfabric
