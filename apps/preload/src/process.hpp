// SPDX-License-Identifier: MIT
// Which process this is, after forks.
#pragma once

namespace preload {

/// How many forks lie between the program's start and this process. Any thread, wait-free.
unsigned forks() noexcept;
/// In a forked child.
void count_fork() noexcept;
/// False in a child of vfork(2) or a like call, which shares the memory of its parent but has
/// descriptors of its own: what it closes its parent still has. A system call.
bool is_this_process() noexcept;

}  // namespace preload
