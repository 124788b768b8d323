// SPDX-License-Identifier: MIT
// How long a thread had to wait for its core, because something else ran there.
#pragma once

#include <cstdint>

namespace bench {

/// Nanoseconds for which the calling thread, since it began, was ready to run while another held
/// its core; 0 where the kernel does not tell. Some microseconds a call: not for inside a batch.
/// Source: Documentation/scheduler/sched-stats.rst in Linux, /proc/<pid>/schedstat. Any thread.
std::uint64_t core_wait_ns();
/// The same of all other threads of this process that there are now.
std::uint64_t core_wait_of_others_ns();

}  // namespace bench
