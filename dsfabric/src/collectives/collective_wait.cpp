// SPDX-License-Identifier: MIT
// CollectiveWait: why there are no more collectives.
#include "collectives/collective_wait.hpp"

#include <fmt/format.h>

#include <utility>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/error.hpp"

namespace dsfabric {
namespace {

constexpr const char* kDuring = "a collective operation";

}  // namespace

std::optional<ProcessId> CollectiveWait::failed() const noexcept {
  const std::uint32_t count = failures_.count();
  if (count == foreign_.load(std::memory_order_relaxed)) return {};
  const auto first = failures_.first_of([this](ProcessId each) { return participants_.has(each); });
  if (!first) foreign_.store(count, std::memory_order_relaxed);
  return first;
}

void CollectiveWait::throw_if_over() const {
  if (own_failure_.declared()) {
    throw PeerFailed(participants_.members().self(), kDuring, own_failure_.reason());
  }
  if (const auto first = failed()) throw PeerFailed(*first, kDuring, failures_.reason(*first));
  if (broken_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(mutex_);
    std::rethrow_exception(broken_by_);
  }
}

void CollectiveWait::limit(std::optional<std::chrono::milliseconds> patience) noexcept {
  const auto end = dtutils::Clock::now() + patience.value_or(std::chrono::seconds(0));
  end_.store(patience ? end.time_since_epoch().count() : 0, std::memory_order_relaxed);
}

void CollectiveWait::throw_if_late(ProcessId on) const {
  const auto end = end_.load(std::memory_order_relaxed);
  if (end == 0 || dtutils::Clock::now().time_since_epoch().count() < end) return;
  throw dtutils::Error("making a Group", fmt::format("process {} has not come in time", on),
                       "make it on all its members, with one list, in one order; or raise the "
                       "setting start_timeout");
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
