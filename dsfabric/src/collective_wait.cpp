// SPDX-License-Identifier: MIT
// CollectiveWait: why there are no more collectives.
#include "collective_wait.hpp"

#include <utility>

#include "dsfabric/peer_failed.hpp"

namespace dsfabric {
namespace {

constexpr const char* kDuring = "a collective operation";

}  // namespace

void CollectiveWait::throw_if_over() const {
  if (aborted()) {
    throw PeerFailed(core_.self(), kDuring, abort_reason());
  }
  const Failures& failures = core_.failures();
  if (failures.count() != 0) {
    const ProcessId first = failures.first();
    throw PeerFailed(first, kDuring, failures.reason(first));
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

void CollectiveWait::abort(std::string_view reason) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (aborted_.load(std::memory_order_relaxed)) {
      return;
    }
    abort_reason_ = reason;
    // Release: pairs with the readers of the reason.
    aborted_.store(true, std::memory_order_release);
  }
  core_.tell_end(EndNotice::kFailed, reason);
  core_.mark_aborted();
}

std::string CollectiveWait::abort_reason() const {
  const std::scoped_lock lock(mutex_);
  return abort_reason_;
}

}  // namespace dsfabric
