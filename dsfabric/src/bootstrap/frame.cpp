// SPDX-License-Identifier: MIT
// Frames in and out of a byte stream.
#include "bootstrap/frame.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace dsfabric::rendezvous {
namespace {

constexpr std::size_t kHead = 5;

std::uint32_t load_u32(const std::byte* at) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = (value << 8) | static_cast<std::uint8_t>(at[i]);
  return value;
}

void store_u32(Bytes& into, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) into.push_back(static_cast<std::byte>(value >> (8 * i)));
}

}  // namespace

Writer& Writer::u32(std::uint32_t value) {
  store_u32(body_, value);
  return *this;
}

Writer& Writer::bytes(std::span<const std::byte> value) {
  u32(static_cast<std::uint32_t>(value.size()));
  body_.insert(body_.end(), value.begin(), value.end());
  return *this;
}

Writer& Writer::text(std::string_view value) { return bytes(std::as_bytes(std::span(value))); }

std::optional<std::uint32_t> Reader::u32() {
  if (body_.size() < 4) return std::nullopt;
  const std::uint32_t value = load_u32(body_.data());
  body_ = body_.subspan(4);
  return value;
}

std::optional<std::span<const std::byte>> Reader::bytes() {
  const auto length = u32();
  if (!length || *length > body_.size()) return std::nullopt;
  const auto value = body_.first(*length);
  body_ = body_.subspan(*length);
  return value;
}

std::optional<std::string> Reader::text() {
  const auto value = bytes();
  if (!value) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(value->data()), value->size());
}

Connection::Connection(int socket) : fd_(socket) {
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  fcntl(fd_, F_SETFD, FD_CLOEXEC);
  // Letters are small, and somebody waits for each: not for the acknowledgement of the one before.
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Connection::~Connection() { close_now(); }

void Connection::close_now() noexcept {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

std::shared_ptr<const Bytes> make_frame(Type type, std::span<const std::byte> body) {
  Bytes frame;
  frame.reserve(kHead + body.size());
  store_u32(frame, static_cast<std::uint32_t>(body.size()));
  frame.push_back(static_cast<std::byte>(type));
  frame.insert(frame.end(), body.begin(), body.end());
  return std::make_shared<const Bytes>(std::move(frame));
}

bool Connection::send(Type type, std::span<const std::byte> body) {
  return send(make_frame(type, body));
}

bool Connection::send(std::shared_ptr<const Bytes> frame) {
  queue(std::move(frame));
  return flush();
}

bool Connection::flush() {
  constexpr std::size_t kAtOnce = 64;
  while (has_queued()) {
    std::array<iovec, kAtOnce> parts;
    const std::size_t count = std::min(out_.size(), kAtOnce);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t done = i == 0 ? sent_ : 0;
      parts[i] = {const_cast<std::byte*>(out_[i]->data()) + done, out_[i]->size() - done};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t done = sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    sent_ += static_cast<std::size_t>(done);
    while (has_queued() && sent_ >= out_.front()->size()) {
      sent_ -= out_.front()->size();
      out_.pop_front();
    }
  }
  return true;
}

bool Connection::receive(std::uint32_t limit) {
  std::array<std::byte, 65536> part;
  for (;;) {
    if (waiting() >= kHead && load_u32(in_.data() + taken_) > limit) return false;
    const std::size_t max = std::size_t{limit} + kHead;
    if (waiting() >= max) return true;  // enough to work on
    const ssize_t done = recv(fd_, part.data(), std::min(part.size(), max - waiting()), 0);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (done == 0) return false;
    in_.insert(in_.end(), part.begin(), part.begin() + done);
  }
}

std::optional<Frame> Connection::next() {
  const std::byte* const head = in_.data() + taken_;
  if (waiting() < kHead || waiting() < kHead + load_u32(head)) {
    // Here, and not for each frame, so that many small ones cost no more than
    // one large one.
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(std::exchange(taken_, 0)));
    if (in_.empty()) in_ = Bytes();
    return std::nullopt;
  }
  const std::size_t length = load_u32(head);
  Frame frame{static_cast<Type>(head[4]), {head + kHead, head + kHead + length}};
  taken_ += kHead + length;
  return frame;
}

}  // namespace dsfabric::rendezvous
