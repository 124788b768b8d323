// SPDX-License-Identifier: MIT
// Copies from a pipe to a stream: no byte leaves the pipe that the stream does not take.
#include "splice.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

#include "kernel_socket.hpp"
#include "poll.hpp"
#include "real.hpp"
#include "transfer.hpp"

namespace preload {
namespace {

/// Bytes that are copied at a time, on the stack of the caller.
constexpr std::size_t kPiece = 16384;
using Piece = std::array<std::byte, kPiece>;

/// Until the pipe has bytes, or has ended. 0, or an errno value.
int wait_for_bytes(int pipe, bool waits) {
  pollfd entry{pipe, POLLIN, 0};
  const int found = poll_until(&entry, 1, end_after(waits ? -1 : 0), nullptr);
  if (found > 0) return 0;
  return found == 0 ? EAGAIN : errno;
}

/// Copies what a pipe has, which keeps it. 0: its end.
ssize_t look_into(int pipe, std::span<std::byte> into) {
  std::array<int, 2> copy;
  if (pipe2(copy.data(), O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  ssize_t bytes = tee(pipe, copy[1], into.size(), SPLICE_F_NONBLOCK);
  const int code = errno;
  if (bytes > 0) bytes = real().read(copy[0], into.data(), static_cast<std::size_t>(bytes));
  real().close(copy[0]);
  real().close(copy[1]);
  errno = code;
  return bytes;
}

/// What a call that moved `done` bytes answers when the next step said `bytes`.
ssize_t answer_of(std::size_t done, ssize_t bytes) {
  return done != 0 ? static_cast<ssize_t>(done) : bytes;
}

}  // namespace

ssize_t splice_to_connection(int pipe, int connection, std::size_t length, unsigned flags) {
  const bool waits = (flags & SPLICE_F_NONBLOCK) == 0;
  Piece piece;
  std::size_t done = 0;
  while (done < length) {
    const bool pipe_waits = waits && done == 0 && !is_non_blocking(pipe);
    if (const int code = wait_for_bytes(pipe, pipe_waits); code != 0) {
      errno = code;
      return answer_of(done, -1);
    }
    const ssize_t there = look_into(pipe, std::span(piece).first(std::min(length - done, kPiece)));
    if (there <= 0) return answer_of(done, there);
    const iovec part{piece.data(), static_cast<std::size_t>(there)};
    const ssize_t sent = send(connection, std::span(&part, 1), waits ? 0 : MSG_DONTWAIT);
    if (sent <= 0) return answer_of(done, sent);
    const ssize_t taken = real().read(pipe, piece.data(), static_cast<std::size_t>(sent));
    if (taken != sent) return answer_of(done, taken);
    done += static_cast<std::size_t>(sent);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace preload
