// SPDX-License-Identifier: MIT
// How this library asks the kernel for events on behalf of calls that have no such limit.
#pragma once

#include <poll.h>
#include <signal.h>

#include <ctime>

namespace preload {

/// As ppoll(2), which the kernel refuses for more entries than descriptors the process may open
/// (RLIMIT_NOFILE); receive(2) it does not, so then pselect(2) is asked. It knows of no POLLHUP,
/// POLLERR and POLLRDHUP but as readiness, and of no descriptors from FD_SETSIZE on. May be
/// cancelled. Any thread.
int poll_kernel(pollfd* entries, nfds_t count, const timespec* time, const sigset_t* mask);

}  // namespace preload
