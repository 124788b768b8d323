// SPDX-License-Identifier: MIT
// splice(2) from a pipe to a connection that has a stream.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace preload {

/// As splice(2) without offsets. The bytes are copied. Any thread.
ssize_t splice_to_connection(int pipe, int connection, std::size_t length, unsigned flags);

}  // namespace preload
