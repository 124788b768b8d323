// SPDX-License-Identifier: MIT
// Wire format of the rendezvous: frames on a TCP connection between a process and the launcher.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace dsfabric::rendezvous {

/// Raise it with every change below.
inline constexpr std::uint32_t kProtocol = 1;
/// Larger frames are refused before anything is allocated for them.
inline constexpr std::uint32_t kMaxFrame = 64u << 20;
/// An unauthenticated connection may send no more than this, and must be done within the time.
inline constexpr std::uint32_t kMaxHello = 4096;
inline constexpr std::chrono::milliseconds kHelloTime{5000};
/// Bytes of the job secret.
inline constexpr std::size_t kSecretSize = 32;

/// A frame is: length of the body, 4 bytes | type, 1 byte | body. Numbers are little-endian.
enum class Type : std::uint8_t {
  /// process -> launcher: protocol, secret, rank, size, build text.
  kHello = 1,
  /// launcher -> process: nothing; or a sentence, before it closes the connection.
  kWelcome = 2,
  kRefused = 3,
  /// process -> launcher: limit in milliseconds, bytes.
  kGather = 4,
  /// launcher -> process: everybody's bytes, each with its length.
  kGathered = 5,
  /// launcher -> process: a sentence that names who did not come.
  kMissing = 6,
  /// launcher -> process: rank that ended without goodbye.
  kFailed = 7,
  /// process -> launcher.
  kGoodbye = 8,
};

struct Frame {
  Type type;
  Bytes body;
};

/// Appends numbers and texts to a body.
class Writer {
 public:
  Writer& u32(std::uint32_t value);
  Writer& bytes(std::span<const std::byte> value);
  Writer& text(std::string_view value);
  Bytes take() { return std::move(body_); }

 private:
  Bytes body_;
};

/// Takes them out again; after any answer of nullopt the body is malformed.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> body) : body_(body) {}
  std::optional<std::uint32_t> u32();
  std::optional<std::span<const std::byte>> bytes();
  std::optional<std::string> text();

 private:
  std::span<const std::byte> body_;
};

/// One end of a connection: cuts the byte stream into frames. Owns the socket, which it makes
/// non-blocking.
class Connection {
 public:
  explicit Connection(int socket);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  int fd() const noexcept { return fd_; }
  /// Queues a frame and sends what the socket takes; false when the connection is broken.
  bool send(Type type, std::span<const std::byte> body);
  /// Sends more of what is queued; false when the connection is broken.
  bool flush();
  bool has_queued() const noexcept { return sent_ < out_.size(); }
  /// Reads what has arrived; false at the end of the stream, on errors, and for a frame larger than
  /// `limit`. Frames that came before can still be taken.
  bool receive(std::uint32_t limit);
  std::optional<Frame> next();

 private:
  int fd_;
  Bytes in_;
  Bytes out_;
  std::size_t sent_ = 0;
};

/// Compares in a time that does not depend on where they differ.
bool equal_secret(std::string_view a, std::string_view b) noexcept;

}  // namespace dsfabric::rendezvous
