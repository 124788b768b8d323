// SPDX-License-Identifier: MIT
// poll(2) with a point in time as its limit.
#pragma once

#include <poll.h>

#include <chrono>
#include <span>

namespace dtutils {

/// As poll(2), until one of the descriptors has an event or it is `end`, whatever signals come: the
/// number of those with events; 0 when it is `end`; -1 with errno. Looks once at least. The time is
/// that of the machine, also in a simulation (wait_for_events waits there in virtual time). Any
/// thread.
int poll_until(std::span<pollfd> descriptors, std::chrono::steady_clock::time_point end) noexcept;
/// The same with one descriptor and what is waited for, as POLLIN.
int poll_until(int descriptor, short events, std::chrono::steady_clock::time_point end) noexcept;

}  // namespace dtutils
