// SPDX-License-Identifier: MIT
// A TCP connection whose bytes may go over a stream of Cariama instead.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "buffers.hpp"
#include "entry.hpp"
#include "holders.hpp"
#include "kernel_socket.hpp"
#include "read_ahead.hpp"
#include "streams/streams.hpp"
#include "waiter.hpp"

namespace preload {

struct Registration;

/// The TCP connection stays open below and is the anchor: it has the addresses, the options and
/// the end. Each direction goes over TCP at first. A side that takes its stream says so over it,
/// and sends nothing else over it until it has heard the same: one that could not take it has
/// dropped it, and both stay with TCP. Then the sender of a direction begins it with the number of
/// bytes that it had sent over TCP; the receiver takes so many from TCP, and goes on with the
/// stream. When the stream has ended, it goes on with TCP again, which then knows whether the peer
/// has closed, or was killed, or has reset.
///
/// All but the constructor and `kKind`: with `mutex` held. No call waits, except that a broken
/// stream waits for kPatience for what TCP says about it.
class Connection : public Entry {
 public:
  static constexpr Kind kKind = Kind::kConnection;

  Connection() noexcept : Entry(kKind) {}

  /// For a new TCP connection. `connected_here`: this side called connect. `other_host`: its stream
  /// is one between hosts.
  void begin(bool connected_here, bool other_host = false) noexcept;

  /// Sends what goes now. 0, also when that was a part, or an errno value; EAGAIN: nothing goes.
  /// Buffers of so many bytes may be left to be read.
  int try_send(int fd, Buffers& buffers, int flags, std::size_t leave_from) noexcept;
  /// For a call that waits for space: takes what the peer sends meanwhile, which may wait for
  /// space, too. True when there was something.
  bool receive_ahead() noexcept;
  /// Whether receive_ahead may take something later.
  bool may_receive_ahead() const noexcept;
  /// All that was left to be read was read, or never will be.
  bool settled() noexcept;
  /// Whether the next bytes go over TCP.
  bool sends_over_tcp() const noexcept;
  /// sendfile(2) of a socket that does not block, while sends_over_tcp.
  ssize_t send_file_over_tcp(int fd, int file, off64_t* offset, std::size_t length) noexcept;
  /// Receives what is there. 0 and no bytes: the end. Knows MSG_PEEK.
  int try_receive(int fd, Buffers& buffers, int flags) noexcept;
  /// As shutdown(2).
  int shut_down(int fd, int how) noexcept;
  /// Ends the use of this entry by its last descriptor. The caller destroys the stream, and then
  /// closes the descriptor.
  std::unique_ptr<streams::Stream> end(int fd) noexcept;

  /// The process ends without closing it: what the stream holds back goes out, and bytes that
  /// were not read make a reset, as the kernel does.
  void end_with_process(int fd) noexcept;

  /// This side has a stream now. The other one may have dropped its own.
  void carry(std::unique_ptr<streams::Stream> stream) noexcept;
  /// The program reads or writes it on ways that this library does not see.
  void pin() noexcept { pinned_ = true; }
  /// The program asks for what only TCP can do. EOPNOTSUPP when there is a stream, else 0.
  int stay_with_tcp() noexcept;
  /// In a forked child: the parent has the stream.
  void leave_to_parent() noexcept;
  /// Before a fork.
  void share() noexcept;

  /// Counts a call that moved bytes; true when it is time to ask for a stream.
  bool count_transfer() noexcept;
  /// The same for one that received so many.
  bool count_receive(std::size_t bytes) noexcept;
  /// And for one that sent so many.
  bool count_send(std::size_t bytes) noexcept;
  /// Bytes of the ring for what this side receives; see kRingForLong.
  std::uint32_t ring() const noexcept;
  /// Whether a stream could be used. False as well while one is made.
  bool may_be_carried() const noexcept;
  /// While the upgrade is under way.
  bool pending = false;
  bool connected_here() const noexcept { return connected_here_; }
  bool other_host() const noexcept { return other_host_; }
  std::uint64_t generation() const noexcept { return generation_; }

  /// The stream, or nullptr while there is none.
  streams::Stream* stream() const noexcept { return stream_.get(); }
  /// Which of POLLIN and POLLOUT the stream has, for directions that go over it.
  short stream_events() noexcept;
  /// Which of the events of the TCP socket mean what they say, for directions that go over TCP.
  short tcp_events() const noexcept;
  /// What the kernel shall be asked about the TCP socket for a program that waits for `wanted`.
  short tcp_question(short wanted) const noexcept;
  /// poll(2) or epoll(7) said this of the TCP socket. Answers the events for the program.
  short merge(short tcp) noexcept;
  /// How calls of the program wait. The kernel is asked once while no other process may change it.
  Manner manner(int fd) noexcept;
  /// The program has changed it.
  void forget_manner() noexcept { manner_.reset(); }
  /// As FIONREAD.
  int unread(int fd) noexcept;
  /// Lets an event of the stream's descriptor come at the next change, and wakes those of other
  /// threads that slept for the events which that takes away; `wake` is this thread's.
  void arm(int wake) noexcept;
  /// That event was seen, so the next change makes none.
  void disarm() noexcept { armed_ = false; }

  /// Bytes of the stream so far, and sends that found no space: a new edge of epoll is about them.
  std::uint64_t arrived() noexcept;
  std::uint64_t blocked() const noexcept { return blocked_; }

  Sleepers sleepers;
  /// Where it is registered with epoll instances.
  std::vector<Registration*> registrations;
  /// Tells all who sleep on it.
  void wake_all(int except = -1) noexcept;

 private:
  enum class Out : std::uint8_t { kTcp, kStream, kTcpAgain };
  enum class In : std::uint8_t { kTcp, kRest, kStream, kTcpAgain, kLost, kCut };

  void hear_peer() noexcept;
  int begin_stream(int fd, Buffers& buffers) noexcept;
  int send_stream(Buffers& buffers, std::size_t leave_from) noexcept;
  int send_tcp(int fd, Buffers& buffers, int flags) noexcept;
  int receive_tcp(int fd, Buffers& buffers, std::size_t limit, int flags) noexcept;
  int receive_rest(int fd, Buffers& buffers, int flags) noexcept;
  int receive_stream(Buffers& buffers, int flags) noexcept;
  int why_lost(int fd) noexcept;
  int receive_step(int fd, Buffers& buffers, int flags) noexcept;
  int receive_undecided(int fd, Buffers& buffers, int flags) noexcept;
  bool find_beginning(int fd) noexcept;
  void want_space() noexcept;
  std::size_t stream_readable() const noexcept;
  void leave_stream() noexcept;
  void cut(int fd) noexcept;
  void reset_if_unread(int fd) noexcept;

  std::unique_ptr<streams::Stream> stream_;
  std::uint64_t generation_ = 0;
  bool connected_here_ = false;
  bool other_host_ = false;
  bool pinned_ = false;
  /// The stream is the parent's.
  bool foreign_ = false;
  /// The peer said that it has the stream, too.
  bool heard_ = false;
  Out out_ = Out::kTcp;
  In in_ = In::kTcp;
  /// The program said that it receives no more.
  bool read_shut_ = false;
  /// The next change makes an event, or has made one that nobody has seen.
  bool armed_ = false;
  /// With armed_: new space is such a change.
  bool armed_for_space_ = false;
  /// Bytes that come over TCP before the stream's.
  std::uint64_t rest_ = 0;
  ReadAhead ahead_;
  std::uint64_t taken_ = 0;
  std::uint64_t blocked_ = 0;
  std::uint32_t transfers_ = 0;
  std::uint64_t receives_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t sends_ = 0;
  std::uint64_t sent_ = 0;
  std::uint32_t next_try_ = 0;
  Holders holders_;
  std::optional<Manner> manner_;
};

}  // namespace preload
