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
  if (revoked_.load(std::memory_order_acquire) != 0) throw_revoked(*revoked());
}

void CollectiveWait::revoke(Revocation why) noexcept {
  const std::uint64_t word =
      std::uint64_t{1} << 32 | std::uint64_t{why.failed.value} << 16 | std::uint64_t{why.by.value};
  const auto known_by = dtutils::Clock::now() + kRevocationPatience;
  known_by_.store(known_by.time_since_epoch().count(), std::memory_order_relaxed);
  std::uint64_t none = 0;
  revoked_.compare_exchange_strong(none, word, std::memory_order_acq_rel);
}

std::optional<Revocation> CollectiveWait::revoked() const noexcept {
  const std::uint64_t word = revoked_.load(std::memory_order_acquire);
  if (word == 0) return {};
  return Revocation{{static_cast<std::uint16_t>(word >> 16)}, {static_cast<std::uint16_t>(word)}};
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

void CollectiveWait::throw_revoked(const Revocation& why) const {
  const ProcessId self = participants_.members().self();
  // It knew of no failure, or has thrown by now.
  if (why.by == self) throw_left(why.failed);
  const ProcessId gone = why.failed == self ? why.by : why.failed;
  dtutils::Backoff backoff;
  while (failures_.state(gone) == PeerState::kActive &&
         dtutils::Clock::now().time_since_epoch().count() <
             known_by_.load(std::memory_order_relaxed)) {
    backoff.pause();
  }
  if (why.failed == self) throw PeerFailed(why.by, kDuring, "it takes this process for failed");
  throw PeerFailed(why.failed, kDuring,
                   fmt::format("process {} takes it for failed, and takes part no more", why.by));
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
