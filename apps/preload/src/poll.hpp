// SPDX-License-Identifier: MIT
// poll(2) over descriptors of which some are connections.
#pragma once

#include <poll.h>
#include <signal.h>

#include <chrono>
#include <optional>

namespace preload {

/// When a wait ends; nothing: never.
using End = std::optional<std::chrono::steady_clock::time_point>;

/// `timeout` from now on; nullptr: never.
End end_after(const timespec* timeout) noexcept;
/// Milliseconds as poll(2) takes them: negative means never.
End end_after(int milliseconds) noexcept;
/// What is left, for the kernel; nullptr for never. `storage` holds it.
const timespec* time_left(End end, timespec& storage) noexcept;

/// Whether it is over; a look at the clock.
inline bool over(End end) noexcept { return end && std::chrono::steady_clock::now() >= *end; }

/// Whether the kernel alone does not know what poll(2) has to say of `fd`: a connection, or an
/// epoll instance, in which connections may be. Any thread, wait-free.
bool needs_poll_here(int fd) noexcept;

/// As ppoll(2), which may be cancelled. Any thread.
int poll_until(pollfd* entries, nfds_t count, End end, const sigset_t* mask);
/// The same for one event of a connection; 1 as soon as its stream has it, and the kernel is not
/// asked for others then.
int wait_until(int fd, short event, End end);

}  // namespace preload
