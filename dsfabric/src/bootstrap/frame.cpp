// SPDX-License-Identifier: MIT
// Frames in and out of a byte stream.
#include "bootstrap/frame.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

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
}

Connection::~Connection() { close(fd_); }

bool Connection::send(Type type, std::span<const std::byte> body) {
  store_u32(out_, static_cast<std::uint32_t>(body.size()));
  out_.push_back(static_cast<std::byte>(type));
  out_.insert(out_.end(), body.begin(), body.end());
  return flush();
}

bool Connection::flush() {
  while (has_queued()) {
    const ssize_t done = ::send(fd_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    sent_ += static_cast<std::size_t>(done);
  }
  out_.clear();
  sent_ = 0;
  return true;
}

bool Connection::receive(std::uint32_t limit) {
  std::array<std::byte, 65536> part;
  for (;;) {
    if (in_.size() >= kHead && load_u32(in_.data()) > limit) return false;
    if (in_.size() > std::size_t{limit} + kHead) return true;  // enough to work on
    const ssize_t done = recv(fd_, part.data(), part.size(), 0);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (done == 0) return false;
    in_.insert(in_.end(), part.begin(), part.begin() + done);
  }
}

std::optional<Frame> Connection::next() {
  if (in_.size() < kHead) return std::nullopt;
  const std::size_t length = load_u32(in_.data());
  if (in_.size() < kHead + length) return std::nullopt;
  Frame frame{static_cast<Type>(in_[4]), {}};
  const auto begin = in_.begin() + kHead;
  const auto end = begin + static_cast<std::ptrdiff_t>(length);
  frame.body.assign(begin, end);
  in_.erase(in_.begin(), end);
  return frame;
}

bool equal_secret(std::string_view a, std::string_view b) noexcept {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace dsfabric::rendezvous
