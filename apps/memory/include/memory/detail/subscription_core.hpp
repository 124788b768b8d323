// SPDX-License-Identifier: MIT
// What Subscription does, without types.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "memory/detail/client_core.hpp"
#include "memory/detail/hits.hpp"
#include "memory/status.hpp"

namespace memory::detail {

/// See Subscription, which adds the types.
class SubscriptionCore {
 public:
  /// `known`: what was found about the pointer so far.
  SubscriptionCore(ClientCore& client, Status known, const Place& place);
  SubscriptionCore(SubscriptionCore&& other) noexcept
      : copy_(std::exchange(other.copy_, {})),
        from_(other.from_),
        room_(other.room_),
        counters_(other.counters_),
        failures_(other.failures_),
        failures_seen_(other.failures_seen_),
        client_(std::exchange(other.client_, nullptr)) {}
  SubscriptionCore& operator=(SubscriptionCore other) noexcept {
    std::swap(copy_, other.copy_);
    std::swap(from_, other.from_);
    std::swap(room_, other.room_);
    std::swap(counters_, other.counters_);
    std::swap(failures_, other.failures_);
    std::swap(failures_seen_, other.failures_seen_);
    std::swap(client_, other.client_);
    return *this;
  }
  ~SubscriptionCore();

  Status read(void* into, std::size_t bytes) {
    if (!copy_.is_current() || failures_->load(std::memory_order_acquire) != failures_seen_ ||
        bytes > room_) [[unlikely]] {
      return fetch(into, bytes);
    }
    ++counters_->hits;
    // Nothing may be read into an empty span, which points nowhere.
    if (bytes != 0) std::memcpy(into, from_, bytes);
    return Status::kDone;
  }

 private:
  Status fetch(void* into, std::size_t bytes);

  Copy copy_;
  /// The bytes that the pointer points to, and how many there are.
  const std::byte* from_ = nullptr;
  std::uint64_t room_ = 0;
  ClientCounters* counters_;
  /// As in Hits, but how many of them this copy has taken notice of.
  const std::atomic<std::uint32_t>* failures_;
  std::uint32_t failures_seen_ = 0;
  /// nullptr: it was moved from.
  ClientCore* client_;
};

}  // namespace memory::detail
