// SPDX-License-Identifier: MIT
// Receives that leave the bytes where they are, and want more than one look gives.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <span>

namespace preload {

/// A receive with MSG_PEEK and MSG_WAITALL: looks again until all is there, or nothing more comes.
/// What a stream has is no event that a look could wait for, so the thread sleeps after each.
ssize_t peek_all(int fd, std::span<const iovec> parts, int flags);
/// A receive with MSG_PEEK into several buffers. A stream shows its bytes as one piece.
ssize_t peek_parts(int fd, std::span<const iovec> parts, int flags);

}  // namespace preload
