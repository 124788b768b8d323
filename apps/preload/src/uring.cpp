// SPDX-License-Identifier: MIT
// Which of the two came first.
#include "uring.hpp"

#include <atomic>

namespace preload {
namespace {

std::atomic<bool> with_uring{false};
std::atomic<bool> with_streams{false};

/// Of two that come at the same time none is permitted, or one.
bool permit(std::atomic<bool>& one, const std::atomic<bool>& other) noexcept {
  const bool before = one.exchange(true);
  // seq_cst, as the exchange: pairs with the same two of the other one.
  if (before || !other.load()) return true;
  one.store(false);
  return false;
}

}  // namespace

bool permit_uring() noexcept { return permit(with_uring, with_streams); }
bool has_uring() noexcept { return with_uring.load(); }
bool permit_stream() noexcept { return permit(with_streams, with_uring); }

}  // namespace preload
