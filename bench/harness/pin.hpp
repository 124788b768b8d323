// SPDX-License-Identifier: MIT
// Places threads on cores.
#pragma once

#include <vector>

namespace bench {

/// The cores that the calling thread may run on now, ascending; at least one. Throws
/// std::system_error when the kernel refuses. Source: sched_getaffinity(2). Setup only.
std::vector<int> usable_cores();

/// Pins the calling thread to cores[index modulo their number]. Threads that it starts later
/// inherit this. Throws std::system_error when the kernel refuses. Setup only.
void pin_this_thread(const std::vector<int>& cores, int index);

/// The same cores, the second one that which a cache line takes longest to reach from the first:
/// in another socket, say. Takes a few milliseconds for each core.
std::vector<int> farthest_first(std::vector<int> cores);

}  // namespace bench
