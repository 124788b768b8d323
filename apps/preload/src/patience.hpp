// SPDX-License-Identifier: MIT
// How long a thread looks for news before it sleeps: only as long as that pays.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dtutils/wait.hpp"

namespace preload {

/// Looks longer after looking has succeeded, and hardly at all after it has failed several times:
/// on a machine with more threads than cores it takes the time that the peer needs to answer.
/// Owner thread only.
class Patience {
 public:
  /// Calls `look` until it is true, or long enough.
  template <class Look>
  bool spin(Look look) noexcept {
    for (std::uint32_t i = 0; i < budget_; ++i) {
      if (look(i)) {
        budget_ = std::min(kMost, 2 * budget_);
        return true;
      }
      dtutils::cpu_pause();
    }
    budget_ = std::max(kLeast, budget_ / 2);
    return false;
  }
  std::uint32_t budget() const noexcept { return budget_; }

 private:
  static constexpr std::uint32_t kLeast = 8;
  static constexpr std::uint32_t kMost = 1024;
  std::uint32_t budget_ = kMost;
};

}  // namespace preload
