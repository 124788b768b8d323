// SPDX-License-Identifier: MIT
// Owner of an ibv_pd: regions and queue pairs of one domain may work together, others may not.
#pragma once

#include <deque>
#include <mutex>

#include "dtutils/device.hpp"
#include "dtutils/selective_signaling.hpp"

namespace dtutils {

/// Setup only. Outlives everything that was made from it; the device outlives it.
///
/// It keeps the counters of every Transmitter that was made from it, some 200 bytes each, until its
/// own end: registered memory of this domain may carry tags of Transmitters that are gone.
class ProtectionDomain {
 public:
  /// Throws Error.
  explicit ProtectionDomain(Device& device) : device_(device), pd_(device.alloc_pd()) {}
  ProtectionDomain(const ProtectionDomain&) = delete;
  ProtectionDomain& operator=(const ProtectionDomain&) = delete;
  ~ProtectionDomain() { device_.dealloc_pd(pd_); }

  /// The device that it was made on. Any thread, wait-free.
  Device& device() const noexcept { return device_; }
  /// The verbs object. Any thread, wait-free.
  ibv_pd* raw() const noexcept { return pd_; }

  /// For a Transmitter: its counters. `parameters` must have passed check(). Any thread; locks.
  SelectiveSignaling& make_signaling(const SignalingParameters& parameters) {
    const std::lock_guard lock(mutex_);
    return signaling_.emplace_back(parameters);
  }

 private:
  Device& device_;
  ibv_pd* pd_;
  std::mutex mutex_;
  /// Its elements never move.
  std::deque<SelectiveSignaling> signaling_;
};

}  // namespace dtutils
