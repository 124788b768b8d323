// SPDX-License-Identifier: MIT
// Owner of an ibv_pd: regions and queue pairs of one domain may work together, others may not.
#pragma once

#include "dtutils/device.hpp"

namespace dtutils {

/// Setup only. Outlives everything that was made from it; the device outlives it.
class ProtectionDomain {
 public:
  explicit ProtectionDomain(Device& device) : device_(device), pd_(device.alloc_pd()) {}
  ProtectionDomain(const ProtectionDomain&) = delete;
  ProtectionDomain& operator=(const ProtectionDomain&) = delete;
  ~ProtectionDomain() { device_.dealloc_pd(pd_); }

  Device& device() const noexcept { return device_; }
  ibv_pd* raw() const noexcept { return pd_; }

 private:
  Device& device_;
  ibv_pd* pd_;
};

}  // namespace dtutils
