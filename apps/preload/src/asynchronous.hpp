// SPDX-License-Identifier: MIT
// Asynchronous sends of programs that know nothing of them: which sends, and how they end.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "streams/streams.hpp"

namespace preload {

/// This copy of the library stands before the functions that take memory away. Before all else.
void permit_asynchronous_sends() noexcept;

/// Whether this process sends asynchronously: it was asked to by CARIAMA_PRELOAD_ASYNC_SENDS, and
/// it, the kernel and the device can. Any thread.
bool sends_asynchronously() noexcept;

/// What is asked of a stream.
streams::StreamOptions stream_options(std::uint32_t ring) noexcept;

/// Bytes of a buffer from which on this send may leave it to be read; SIZE_MAX: none. Only calls
/// that may wait for ever do, since a later close may have to wait instead of them; and only
/// private memory that is not on the stack, which ends without a call.
std::size_t leaves_from(int fd, std::span<const iovec> buffers, int flags) noexcept;

/// Waits until the peer has read what was left to it, as the sends would have, or for the time that
/// SO_LINGER gives. Before the stream of a closed descriptor is destroyed.
void settle_before_close(streams::Stream& stream, int fd) noexcept;
/// The same for all streams of a process that ends.
void settle_before_exit() noexcept;

}  // namespace preload
