// SPDX-License-Identifier: MIT
// What becomes of connections when the process forks.
#pragma once

namespace preload {

/// Lets the library take part in each fork(2) of the process: when it is loaded, and again after a
/// device was opened. A device locks itself before a fork, and threads that hold a connection use
/// it, so connections come first: what is registered last runs first then. Any thread.
void take_part_in_forks() noexcept;

// Around a system call by which this thread forks past the C library, whose handlers do not run.
void begin_unseen_fork() noexcept;
/// In both processes.
void end_unseen_fork(bool in_child) noexcept;

}  // namespace preload
