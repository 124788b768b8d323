// SPDX-License-Identifier: MIT
// Wire format of the rendezvous: frames on a TCP connection between a process
// and the launcher.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace dsfabric::rendezvous {

/// Raise it with every change below.
inline constexpr std::uint32_t kProtocol = 5;
/// Larger frames are refused before anything is allocated for them. What a
/// process gives to all others fits into one; what it gets from them comes in
/// as many as it takes.
inline constexpr std::uint32_t kMaxFrame = 64u << 20;
/// The launcher begins another frame when one has so many bytes.
inline constexpr std::size_t kFullFrame = 1u << 20;
/// A stranger, who has not proved that it knows the secret, may send no more
/// than this, and must be done within the time.
inline constexpr std::uint32_t kMaxHello = 4096;
inline constexpr std::chrono::milliseconds kHelloTime{5000};
/// Strangers that the launcher has at once, beside the processes that have not
/// joined; when there are more, or no descriptors are left, it drops the one
/// that has been there longest, if that is longer than this. Else it tells the
/// newcomer to come again.
inline constexpr std::uint32_t kStrangers = 64;
inline constexpr std::chrono::milliseconds kPatience{1000};
/// In the place of a rank: a process that comes to a running job, and a letter to all others.
inline constexpr std::uint32_t kNewcomer = 0xffffffff;
inline constexpr std::uint32_t kAllOthers = 0xffffffff;

/// A frame is: length of the body, 4 bytes | type, 1 byte | body. Numbers are
/// little-endian.
///
///     process                              launcher
///       |  <--------- kChallenge ------------ |    its nonce
///       |  ----------- kHello ------------->  |    own nonce, and a proof over
///       both |  <---------- kWelcome ------------- |    a proof over both
///
/// The first proof is made of one greeting, and no other one: who has heard it
/// cannot replay it. The second one shows the process that this is its
/// launcher. What follows is neither encrypted nor proved: the secret keeps
/// strangers out, but not those who can change bytes on the way.
enum class Type : std::uint8_t {
  /// process -> launcher: protocol, nonce, rank, size, build text, proof. A
  /// newcomer has the rank kNewcomer, and the size 0.
  kHello = 1,
  /// launcher -> process: rank, size, capacity, and a proof over rank and size,
  /// which a newcomer gets here; the capacity of a job of fixed processes is 0.
  /// Or kRefused, with a sentence, before it closes the connection.
  kWelcome = 2,
  kRefused = 3,
  /// process -> launcher: limit in milliseconds, bytes.
  kGather = 4,
  /// launcher -> process: the first rank of a run, and the bytes of each rank
  /// of the run. The ranks
  /// come in order; the exchange ends with the last one.
  kGathered = 5,
  /// launcher -> process: a sentence that names who did not come.
  kMissing = 6,
  /// launcher -> process: rank that ended without goodbye.
  kFailed = 7,
  /// process -> launcher.
  kGoodbye = 8,
  /// launcher -> process, first of all: protocol, nonce.
  kChallenge = 9,
  /// launcher -> process, before it closes the connection: a sentence. The
  /// process may come again.
  kBusy = 10,
  /// process -> launcher: limit in milliseconds, and bytes for each rank.
  /// Answered by kGathered, with
  /// what each rank has for this one.
  kScatter = 11,
  /// process -> launcher: the rank that the letter goes to, or kAllOthers; bytes. launcher ->
  /// process: the rank that it comes from; bytes. It follows all
  /// letters of that rank to the same one that were sent before, and stands before its obituary.
  kLetter = 12,
  /// process -> launcher, in an elastic job: what all members are to know of it.
  kIntroduce = 13,
  /// process -> launcher, in an elastic job: a rank, and the reason in words.
  kAccuse = 14,
  /// launcher -> process, in an elastic job: kind of the event, rank, bytes
  /// (JobEvent). All of them, from the first one on, in one order.
  kEvent = 15,
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
  std::size_t size() const noexcept { return body_.size(); }
  Bytes take() { return std::exchange(body_, {}); }

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

/// One end of a connection: cuts the byte stream into frames. Owns the socket,
/// which it makes non-blocking.
class Connection {
 public:
  explicit Connection(int socket);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  int fd() const noexcept { return fd_; }
  /// Gives the descriptor back; nothing may be sent or received any more.
  void close_now() noexcept;
  /// Queues a frame and sends what the socket takes; false when the connection
  /// is broken.
  bool send(Type type, std::span<const std::byte> body);
  /// The same with a frame that several connections send, which share its
  /// bytes.
  bool send(std::shared_ptr<const Bytes> frame);
  /// The same, but sends nothing before flush() does: many frames then go by one system call.
  void queue(std::shared_ptr<const Bytes> frame) { out_.push_back(std::move(frame)); }
  /// Sends more of what is queued; false when the connection is broken.
  bool flush();
  bool has_queued() const noexcept { return !out_.empty(); }
  /// Reads what has arrived; false at the end of the stream, on errors, and for
  /// a frame larger than `limit`. Frames that came before can still be taken.
  bool receive(std::uint32_t limit);
  std::optional<Frame> next();

 private:
  std::size_t waiting() const noexcept { return in_.size() - taken_; }

  int fd_;
  /// What came; its first `taken_` bytes have been given out.
  Bytes in_;
  std::size_t taken_ = 0;
  /// Frames that are not sent; `sent_` bytes of the first one are.
  std::deque<std::shared_ptr<const Bytes>> out_;
  std::size_t sent_ = 0;
};

/// A frame as it travels.
std::shared_ptr<const Bytes> make_frame(Type type, std::span<const std::byte> body);

}  // namespace dsfabric::rendezvous
