// SPDX-License-Identifier: MIT
// io_uring(7) moves bytes past this library, so a process has an io_uring or streams.
#pragma once

namespace preload {

/// Before an io_uring is made. False: the process has had streams, and shall do without. Any
/// thread.
bool permit_uring() noexcept;
/// Whether one was permitted: then all connections are the kernel's alone, and others are not told
/// that this process has the library. Any thread, wait-free.
bool has_uring() noexcept;
/// Before a connection gets its stream. False: the process has an io_uring. Any thread.
bool permit_stream() noexcept;

}  // namespace preload
