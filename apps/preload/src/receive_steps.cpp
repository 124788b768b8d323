// SPDX-License-Identifier: MIT
// What one call receives, over TCP or the stream.
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <span>

#include "connection.hpp"
#include "kernel_poll.hpp"
#include "kernel_socket.hpp"
#include "real.hpp"

namespace preload {
namespace {

using streams::Result;
using streams::Status;

/// How long a broken stream waits for TCP to say why: the kernel closes the descriptors of a
/// process that ends one after the other.
constexpr timespec kPatience{0, 100'000'000};

}  // namespace

int Connection::try_receive(int fd, Buffers& buffers, int flags) noexcept {
  if (buffers.empty()) return 0;
  if ((flags & MSG_OOB) != 0) return receive_tcp(fd, buffers, SIZE_MAX, flags);
  const std::size_t begin = buffers.done();
  if (is_returned()) {
    const int code = receive_returned(fd, buffers, flags);
    if (code != kLookAgain) return code;
  }
  for (;;) {
    const std::size_t before = buffers.done();
    const int code = receive_step(fd, buffers, flags);
    const bool nothing = buffers.done() == begin;
    note_resumable();
    if (code == kLookAgain && (nothing || in_ == In::kStream)) continue;
    // A step fills as many buffers as a window has, and there may be bytes for others.
    const bool filled = buffers.done() != before && buffers.between();
    if (code == 0 && filled && (flags & MSG_PEEK) == 0) continue;
    // What was received comes first; the next call tells the rest.
    return nothing ? code : 0;
  }
}

int Connection::receive_step(int fd, Buffers& buffers, int flags) noexcept {
  switch (in_) {
    case In::kTcp:
      return receive_undecided(fd, buffers, flags);
    case In::kRest:
      return receive_rest(fd, buffers, flags);
    case In::kStream:
      return receive_stream(buffers, flags);
    case In::kEnded:
      if (ahead_.size() != 0) return receive_ahead_bytes(buffers, flags);
      if (hear_end(fd)) return kLookAgain;
      return read_shut_ ? 0 : EAGAIN;
    case In::kOrphaned:
      if (ahead_.size() != 0) return receive_ahead_bytes(buffers, flags);
      hear_survivor(fd);
      if (in_ == In::kCut) return ECONNRESET;
      if (in_ != In::kOrphaned) return kLookAgain;
      return read_shut_ ? 0 : EAGAIN;
    case In::kTcpAgain:
      if (ahead_.size() != 0) return receive_ahead_bytes(buffers, flags);
      return receive_tcp(fd, buffers, SIZE_MAX, flags);
    case In::kLost:
      return why_lost(fd);
    case In::kCut:
      break;
  }
  return 0;
}

int Connection::receive_undecided(int fd, Buffers& buffers, int flags) noexcept {
  if (stream_ == nullptr) return receive_tcp(fd, buffers, SIZE_MAX, flags);
  // Only what was there before the peer can have begun its stream, and left it.
  const bool has_all = has_ended(fd);
  int waiting = 0;
  real().ioctl(fd, FIONREAD, &waiting);
  if (find_beginning(fd)) return kLookAgain;
  if (waiting == 0 && !has_all) return read_shut_ ? 0 : EAGAIN;
  const std::size_t before = buffers.done();
  const int code = receive_tcp(fd, buffers, static_cast<std::size_t>(std::max(waiting, 1)), flags);
  const bool end = code == 0 && buffers.done() == before;
  if (!end || read_shut_) return code;
  // The peer ends its stream before TCP, but that may be on its way, and bytes before it.
  return find_beginning(fd) ? kLookAgain : EAGAIN;
}

int Connection::receive_tcp(int fd, Buffers& buffers, std::size_t limit, int flags) noexcept {
  Buffers::Window window;
  msghdr message{};
  const std::span<iovec> part = buffers.next(window, limit);
  message.msg_iov = part.data();
  message.msg_iovlen = part.size();
  flags &= ~(MSG_WAITALL | MSG_ERRQUEUE);
  const ssize_t bytes = real().recvmsg(fd, &message, flags | MSG_DONTWAIT);
  if (bytes < 0) return errno;
  buffers.advance(static_cast<std::size_t>(bytes));
  return 0;
}

int Connection::receive_rest(int fd, Buffers& buffers, int flags) noexcept {
  const std::size_t before = buffers.done();
  const int code = receive_tcp(fd, buffers, rest_, flags);
  if (code != 0) return code;
  const std::size_t bytes = buffers.done() - before;
  if (bytes == 0) {
    // TCP has ended before the bytes that the peer says it sent.
    in_ = In::kLost;
    return kLookAgain;
  }
  if ((flags & MSG_PEEK) != 0) return 0;
  rest_ -= bytes;
  if (rest_ != 0) return 0;
  in_ = In::kStream;
  return buffers.empty() ? 0 : kLookAgain;
}

/// What was taken ahead.
int Connection::receive_ahead_bytes(Buffers& buffers, int flags) noexcept {
  Buffers::Window window;
  const std::size_t bytes = ahead_.copy(buffers.next(window, SIZE_MAX));
  buffers.advance(bytes);
  if ((flags & MSG_PEEK) != 0) return 0;
  ahead_.drop(bytes);
  taken_ += bytes;
  // Less than there is would say that there is no more.
  return ahead_.size() == 0 && !buffers.empty() ? kLookAgain : 0;
}

int Connection::receive_stream(Buffers& buffers, int flags) noexcept {
  const bool peeks = (flags & MSG_PEEK) != 0;
  // Who peeks may wait for more than this, and it is before what the stream has.
  if (peeks && ahead_.size() != 0) receive_ahead();
  if (ahead_.size() != 0) return receive_ahead_bytes(buffers, flags);
  Buffers::Window window;
  const std::span<iovec> part = buffers.next(window, SIZE_MAX);
  Result result;
  if (peeks) {
    const auto first = std::span(static_cast<std::byte*>(part[0].iov_base), part[0].iov_len);
    result = stream_->try_peek(first);
  } else {
    result = stream_->try_receive(part);
    taken_ += result.bytes;
  }
  buffers.advance(result.bytes);
  if (result.bytes != 0) return 0;
  switch (result.status) {
    case Status::kEnd:
      in_ = In::kEnded;
      return kLookAgain;
    case Status::kReset:
      in_ = after_break();
      return kLookAgain;
    default:
      return read_shut_ ? 0 : EAGAIN;
  }
}

/// The stream broke without an end. What TCP says decides, 0 for its end; but bytes from it would
/// not be the next, and those that it takes not either: without an end it is reset.
int Connection::why_lost(int fd) noexcept {
  pollfd entry{fd, POLLIN | POLLRDHUP, 0};
  poll_kernel(&entry, 1, &kPatience, nullptr);
  std::byte byte;
  const ssize_t bytes = real().recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (bytes == 0) return 0;
  if (bytes < 0 && errno != EAGAIN) return errno;
  cut(fd);
  return ECONNRESET;
}

void Connection::cut(int fd) noexcept {
  if (holders_.alone()) {
    let_close_reset(fd);
    real().shutdown(fd, SHUT_RDWR);
  } else {
    // A close would wait for that of the others, and the peer take its end for the end.
    reset(fd);
  }
  in_ = In::kCut;
  out_ = Out::kTcpAgain;
}

/// True when the stream was found to be begun, or never to be.
bool Connection::find_beginning(int fd) noexcept {
  hear_peer();
  if (in_ != In::kTcp) return true;
  if (!heard_) return false;
  if (stream_->readable() < sizeof(Beginning)) {
    // Ended, or broken, without a beginning: all that the peer sent went over TCP.
    if (!stream_->receive_ready()) return false;
    if (stream_->readable() < sizeof(Beginning)) {
      in_ = In::kTcpAgain;
      // It may have given the stream back before it sent anything there.
      if (stream_->handed_over() && !has_ended(fd)) answer(fd);
      return true;
    }
  }
  Beginning beginning = 0;
  stream_->try_receive(std::as_writable_bytes(std::span(&beginning, 1)));
  const auto got = bytes_read(fd);
  if (!got || *got > beginning) {
    in_ = In::kLost;
    return true;
  }
  rest_ = beginning - *got;
  in_ = rest_ == 0 ? In::kStream : In::kRest;
  return true;
}

}  // namespace preload
