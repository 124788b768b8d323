// SPDX-License-Identifier: MIT
// What one call sends, over TCP or the stream.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "connection.hpp"
#include "kernel_socket.hpp"
#include "real.hpp"
#include "word.hpp"

namespace preload {
namespace {

using streams::Result;
using streams::Status;

}  // namespace

int Connection::try_send(int fd, Buffers& buffers, int flags, std::size_t leave_from) noexcept {
  if (foreign_) return send_foreign(fd, buffers, flags);
  if (stream_ != nullptr) look_for_end(fd);
  if (in_ == In::kOrphaned) return ++blocked_, EAGAIN;
  if (out_ == Out::kTcp && stream_ != nullptr && (flags & MSG_OOB) == 0 && !buffers.empty()) {
    hear_peer();
    if (heard_ && begin_stream(fd, buffers) == 0) return 0;
  }
  if (out_ == Out::kStream) {
    if ((flags & MSG_OOB) != 0) return EOPNOTSUPP;
    const int code = send_stream(buffers, leave_from);
    note_resumable();
    // As in the kernel, a part of a send makes an edge like one that found no space.
    if (code == EAGAIN || (code == 0 && !buffers.empty())) want_space();
    if (code != EPIPE) return code;
    if (const int why = why_broken(fd); why != 0) return why;
  }
  const int code = send_tcp(fd, buffers, flags);
  if (code == EAGAIN) ++blocked_;
  return code;
}

/// Looks whether the peer has taken its stream, or never will.
void Connection::hear_peer() noexcept {
  if (heard_ || in_ != In::kTcp) return;
  if (stream_->readable() == 0) {
    if (!stream_->receive_ready()) return;
    if (stream_->readable() == 0) {
      // Ended, or broken, without a byte: all that the peer sent went over TCP.
      in_ = In::kTcpAgain;
      if (out_ == Out::kTcp) leave_stream();
      return;
    }
  }
  std::byte word;
  stream_->try_receive(std::span(&word, 1));
  heard_ = true;
}

/// Goes over to the stream. An errno value: it goes on with TCP.
int Connection::begin_stream(int fd, Buffers& buffers) noexcept {
  const auto written = bytes_written(fd);
  if (!written) {
    leave_stream();
    return ENOTSUP;
  }
  Beginning beginning = *written;
  Buffers::Window window;
  window[0] = {&beginning, sizeof beginning};
  const std::span<iovec> all = buffers.next(window, streams::kRing - sizeof beginning, 1);
  const Result result = stream_->try_send(all);
  if (result.bytes < sizeof beginning) {
    // The peer is gone: nothing was sent over it.
    leave_stream();
    return EPIPE;
  }
  out_ = Out::kStream;
  streamed_ = result.bytes - sizeof beginning;
  buffers.advance(streamed_);
  return 0;
}

/// What was armed while there was space makes no event for it.
void Connection::want_space() noexcept {
  ++blocked_;
  if (std::exchange(armed_, false)) wake_all();
}

int Connection::send_stream(Buffers& buffers, std::size_t leave_from) noexcept {
  Buffers::Window window;
  const std::size_t before = buffers.done();
  while (!buffers.empty()) {
    const std::span<iovec> part = buffers.next(window, SIZE_MAX);
    const auto long_one = std::find_if(
        part.begin(), part.end(), [&](const iovec& each) { return each.iov_len >= leave_from; });
    const Result result =
        long_one == part.begin()
            ? stream_->try_send_asynchronously(
                  {static_cast<const std::byte*>(part[0].iov_base), part[0].iov_len})
            : stream_->try_send(std::span(part.begin(), long_one));
    buffers.advance(result.bytes);
    streamed_ += result.bytes;
    if (result.bytes != 0) continue;
    if (buffers.done() != before) return 0;
    return result.status == Status::kBrokenPipe ? EPIPE : EAGAIN;
  }
  return 0;
}

int Connection::send_tcp(int fd, Buffers& buffers, int flags) noexcept {
  if (const int code = say_word(fd, streamed_, word_left_); code != 0) return code;
  Buffers::Window window;
  msghdr message{};
  const std::span<iovec> part = buffers.next(window, SIZE_MAX);
  message.msg_iov = part.data();
  message.msg_iovlen = part.size();
  // The caller raises SIGPIPE, when it has no lock.
  const ssize_t bytes = real().sendmsg(fd, &message, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
  if (bytes < 0) return errno;
  buffers.advance(static_cast<std::size_t>(bytes));
  return 0;
}

bool Connection::sends_over_tcp() const noexcept {
  return !foreign_ && word_left_ == 0 && out_ != Out::kStream &&
         (out_ != Out::kTcp || stream_ == nullptr);
}

ssize_t Connection::send_file_over_tcp(int fd, int file, off64_t* offset,
                                       std::size_t length) noexcept {
  const ssize_t sent = real().sendfile(fd, file, offset, length);
  if (sent < 0 && errno == EAGAIN) ++blocked_;
  return sent;
}

}  // namespace preload
