// SPDX-License-Identifier: MIT
// What to do when the verbs of this system refuse something, decided over plain data.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dtutils::verbs {

/// What this machine says about RDMA, apart from libibverbs' own list.
struct SystemFacts {
  /// RDMA devices of the kernel (/sys/class/infiniband).
  std::vector<std::string> kernel_devices;
  /// True when ib_uverbs is loaded (/sys/class/infiniband_verbs).
  bool user_verbs = false;
};
SystemFacts read_system_facts();

/// Why libibverbs lists no device, or not one called `wanted` (may be empty), and what would help:
/// "the kernel has no RDMA device (...)". Never ends in a full stop.
std::string explain_absence(const SystemFacts& facts, std::string_view wanted);

/// What to do after ibv_open_device(3) failed with `code` on the device node `node`.
std::string remedy_for_open(int code, std::string_view node);

/// What to do after `length` bytes could not be registered (ibv_reg_mr(3)) or pinned for a queue.
/// `memlock` is RLIMIT_MEMLOCK (getrlimit(2)).
std::string remedy_for_pinning(int code, std::size_t length, rlim_t memlock);

/// The limit on locked memory of this process.
rlim_t memlock_limit();

/// "64 KiB", "2 MiB", "17 bytes".
std::string size_in_words(std::size_t bytes);

}  // namespace dtutils::verbs
