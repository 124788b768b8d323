// SPDX-License-Identifier: MIT
// Which thread is simulated by whom.
#include "dtutils/scheduler.hpp"

namespace dtutils {
namespace {

thread_local constinit Scheduler* of_thread = nullptr;

}  // namespace

Scheduler* Scheduler::of_this_thread() noexcept { return of_thread; }

void Scheduler::adopt_this_thread(Scheduler* scheduler) noexcept {
  of_thread = scheduler;
  if (scheduler != nullptr) used.store(true, std::memory_order_relaxed);
}

}  // namespace dtutils
