// SPDX-License-Identifier: MIT
// How many workers of this process have come to the collective that they are in.
#pragma once

#include <atomic>
#include <cstdint>

#include "dtutils/limits.hpp"

namespace dsfabric {

/// Collectives count in it; whoever runs messages looks at it. Any thread, wait-free.
class alignas(dtutils::kCacheLine) Arrivals {
 public:
  /// The number with this one. Acquire and release: the last one sees what all before it have
  /// written.
  std::uint32_t arrive() noexcept { return count_.fetch_add(1, std::memory_order_acq_rel) + 1; }
  /// All have come. Release, as every arrival: pairs with see().
  void begin_again() noexcept { count_.store(0, std::memory_order_release); }
  /// The calling thread goes into something that peers come out of, but no worker is counted for.
  /// Release, and changes nothing: pairs with see().
  void publish() noexcept { count_.fetch_add(0, std::memory_order_release); }
  /// From here on the calling thread sees what the workers of this process did before they came to
  /// their last collective, and others before their last publish(). For handlers: a peer that has
  /// left a barrier may call us while our own workers are still in it, and tell what they did
  /// before it.
  void see() const noexcept { (void)count_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace dsfabric
