// SPDX-License-Identifier: MIT
// RoomWaiters: a list through the stacks of those that wait.
#include "riutils/detail/room_waiters.hpp"

#include <utility>

#include "riutils/fiber_pool.hpp"

namespace riutils::detail {

RoomWaiters::Waiter::Waiter(RoomWaiters& all) noexcept
    : all_(all), next_(all.first_), fiber_(FiberPool::inside()) {
  all_.first_ = this;
  all_.fibers_ += fiber_;
}

RoomWaiters::Waiter::~Waiter() {
  all_.fibers_ -= fiber_;
  for (Waiter** at = &all_.first_; *at != nullptr; at = &(*at)->next_) {
    if (*at == this) {
      *at = next_;
      return;
    }
  }
}

void RoomWaiters::wake_all() noexcept {
  Waiter* waiter = std::exchange(first_, nullptr);
  while (waiter != nullptr) {
    // A waiter may be gone as soon as it is told.
    Waiter* const next = waiter->next_;
    waiter->room_.decrement();
    waiter = next;
  }
}

}  // namespace riutils::detail
