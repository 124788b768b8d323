// SPDX-License-Identifier: MIT
// A number that tells hosts apart, so that a device knows which peers share its memory.
#pragma once

#include <cstdint>

namespace dtutils {

/// The same value in every process of this host and PID namespace, another one elsewhere: a hash of
/// the boot id (proc(5)) and of the PID namespace (namespaces(7)). Throws Error when /proc is not
/// mounted. Setup only.
std::uint64_t host_id();

}  // namespace dtutils
