// SPDX-License-Identifier: MIT
// The directions of a connection: what one call sends or receives, over TCP or the stream.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "connection.hpp"
#include "kernel_socket.hpp"
#include "real.hpp"

namespace preload {
namespace {

using streams::Result;
using streams::Status;

/// What a direction over a stream begins with: the bytes that were sent over TCP before.
using Beginning = std::uint64_t;
/// How long a broken stream waits for TCP to say why: the kernel closes the descriptors of a
/// process that ends one after the other.
constexpr timespec kPatience{0, 100'000'000};
/// No errno value: the direction has changed, or may have; look again.
constexpr int kLookAgain = -1;

std::span<std::byte> bytes_of(Beginning& beginning) noexcept {
  return std::as_writable_bytes(std::span(&beginning, 1));
}

}  // namespace

int Connection::try_send(int fd, Buffers& buffers, int flags, std::size_t leave_from) noexcept {
  if (foreign_) return ECONNRESET;
  if (out_ == Out::kTcp && stream_ != nullptr && (flags & MSG_OOB) == 0 && !buffers.empty()) {
    hear_peer();
    if (heard_ && begin_stream(fd, buffers) == 0) return 0;
  }
  if (out_ == Out::kStream) {
    if ((flags & MSG_OOB) != 0) return EOPNOTSUPP;
    const int code = send_stream(buffers, leave_from);
    // As in the kernel, a part of a send makes an edge like one that found no space.
    if (code == EAGAIN || (code == 0 && !buffers.empty())) want_space();
    if (code != EPIPE) return code;
    out_ = Out::kTcpAgain;
    // Whatever the reason is, TCP gives it as it always does.
    const int why = stream_->closed_by_peer() ? 0 : why_lost(fd);
    if (why != 0) return why;
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
  buffers.advance(result.bytes - sizeof beginning);
  return 0;
}

/// What was armed while there was space makes no event for it.
void Connection::want_space() noexcept {
  ++blocked_;
  if (std::exchange(armed_, false)) wake_all();
}

void Connection::leave_stream() noexcept {
  out_ = Out::kTcpAgain;
  stream_->finish_sending();
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
    if (result.bytes != 0) continue;
    if (buffers.done() != before) return 0;
    return result.status == Status::kBrokenPipe ? EPIPE : EAGAIN;
  }
  return 0;
}

int Connection::send_tcp(int fd, Buffers& buffers, int flags) noexcept {
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
  return !foreign_ && out_ != Out::kStream && (out_ != Out::kTcp || stream_ == nullptr);
}

ssize_t Connection::send_file_over_tcp(int fd, int file, off64_t* offset,
                                       std::size_t length) noexcept {
  const ssize_t sent = real().sendfile(fd, file, offset, length);
  if (sent < 0 && errno == EAGAIN) ++blocked_;
  return sent;
}

int Connection::try_receive(int fd, Buffers& buffers, int flags) noexcept {
  if (foreign_) return ECONNRESET;
  if (buffers.empty()) return 0;
  if ((flags & MSG_OOB) != 0) return receive_tcp(fd, buffers, SIZE_MAX, flags);
  const std::size_t begin = buffers.done();
  for (;;) {
    const std::size_t before = buffers.done();
    const int code = receive_step(fd, buffers, flags);
    const bool nothing = buffers.done() == begin;
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
    case In::kTcpAgain:
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
  if (find_beginning(fd)) return kLookAgain;
  const std::size_t before = buffers.done();
  const int code = receive_tcp(fd, buffers, SIZE_MAX, flags);
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

int Connection::receive_stream(Buffers& buffers, int flags) noexcept {
  const bool peeks = (flags & MSG_PEEK) != 0;
  // Who peeks may wait for more than this, and it is before what the stream has.
  if (peeks && ahead_.size() != 0) receive_ahead();
  Buffers::Window window;
  std::span<iovec> part = buffers.next(window, SIZE_MAX);
  if (ahead_.size() != 0) {
    const std::size_t bytes = ahead_.copy(part);
    buffers.advance(bytes);
    if (peeks) return 0;
    ahead_.drop(bytes);
    taken_ += bytes;
    // Less than there is would say that there is no more.
    return ahead_.size() == 0 && !buffers.empty() ? kLookAgain : 0;
  }
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
      in_ = In::kTcpAgain;
      return kLookAgain;
    case Status::kReset:
      in_ = In::kLost;
      return kLookAgain;
    default:
      return read_shut_ ? 0 : EAGAIN;
  }
}

/// The stream broke without an end. What TCP says decides, 0 for its end; but bytes from it would
/// not be the next, and those that it takes not either: without an end it is reset.
int Connection::why_lost(int fd) noexcept {
  pollfd entry{fd, POLLIN | POLLRDHUP, 0};
  real().ppoll(&entry, 1, &kPatience, nullptr);
  std::byte byte;
  const ssize_t bytes = real().recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (bytes == 0) return 0;
  if (bytes < 0 && errno != EAGAIN) return errno;
  cut(fd);
  return ECONNRESET;
}

void Connection::cut(int fd) noexcept {
  let_close_reset(fd);
  real().shutdown(fd, SHUT_RDWR);
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
      return true;
    }
  }
  Beginning beginning = 0;
  stream_->try_receive(bytes_of(beginning));
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
