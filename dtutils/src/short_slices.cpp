// SPDX-License-Identifier: MIT
// ask_for_short_slices: a request that the C library of Debian 12 has no function for.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "dtutils/wait.hpp"

namespace dtutils {
namespace {

/// As sched_setattr(2) has it.
struct SchedulingAttributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime;
  std::uint64_t deadline;
  std::uint64_t period;
};
static_assert(sizeof(SchedulingAttributes) == 48, "SCHED_ATTR_SIZE_VER0");

/// SCHED_FLAG_RESET_ON_FORK.
constexpr std::uint64_t kResetOnFork = 1;
/// ns: the shortest slice that the kernel gives.
constexpr std::uint64_t kShortSlice = 100'000;

}  // namespace

void ask_for_short_slices() noexcept {
  if (simulated_by() != nullptr) return;
  SchedulingAttributes wanted{};
  if (syscall(SYS_sched_getattr, 0, &wanted, sizeof wanted, 0) != 0) return;
  if (wanted.policy != SCHED_OTHER && wanted.policy != SCHED_BATCH) return;
  wanted.size = sizeof wanted;
  wanted.flags |= kResetOnFork;
  wanted.runtime = kShortSlice;
  // Where it is refused, the thread waits for its turn as before.
  (void)syscall(SYS_sched_setattr, 0, &wanted, 0);
}

}  // namespace dtutils
