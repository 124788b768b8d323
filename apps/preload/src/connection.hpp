// SPDX-License-Identifier: MIT
// A TCP connection whose bytes may go over a stream of Cariama instead.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "buffers.hpp"
#include "entry.hpp"
#include "holders.hpp"
#include "kernel_socket.hpp"
#include "owner.hpp"
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
/// has closed, or was killed, or has reset; or which goes on with bytes, after a word (`Word`) that
/// says so: the peer has given the stream back, because it has forked, and this side does the same.
///
/// A stream stays with its owner, the process that made it. Others that fork(2) made from it have
/// the connection as a foreign one until they want it: then they ask the owner to give the stream
/// back, and share with it what it receives until the peer has left the stream, too (`Returned`).
/// When the owner is killed, one of them goes on from the memory of the stream (survivor.cpp).
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
  /// Before `end`, and end_with_process, while other processes may have it: they shall go on. True
  /// when they can, false: call it again soon.
  bool give_up(int fd) noexcept;

  /// This side has a stream now. The other one may have dropped its own.
  void carry(std::unique_ptr<streams::Stream> stream) noexcept;
  /// The program reads or writes it on ways that this library does not see.
  void pin() noexcept { pinned_ = true; }
  /// The program asks for what only TCP can do. EOPNOTSUPP when there is a stream, else 0.
  int stay_with_tcp() noexcept;
  /// In a forked child: the parent has the stream.
  void leave_to_parent(const Owner& parent) noexcept;
  /// Before a fork. Whether it has a stream.
  bool share() noexcept;
  /// Before this process becomes another program, which may get the descriptor.
  void leave_to_program(int fd) noexcept;
  /// Before `end`, which changes nothing then for other processes: this one keeps it, but for the
  /// kernel alone.
  void leave_to_kernel() noexcept { holders_.stay(); }
  /// Whether another process has asked for what this one has the stream of.
  bool is_asked_for() const noexcept;
  /// Gives the stream back to TCP, as far as it goes now. True when nothing is left to do.
  bool give_back(int fd) noexcept;

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
  /// It has, or had, a stream, perhaps of another process, so the kernel does not tell of all.
  bool is_carried() const noexcept { return stream_ != nullptr || foreign_; }
  /// Which of POLLIN and POLLOUT the stream has, for directions that go over it.
  short stream_events(int fd) noexcept;
  /// Which of the events of the TCP socket mean what they say, for directions that go over TCP.
  short tcp_events() const noexcept;
  /// What the kernel shall be asked about the TCP socket for a program that waits for `wanted`.
  short tcp_question(short wanted) const noexcept;
  /// poll(2) or epoll(7) said this of the TCP socket. Answers the events for the program.
  short merge(int fd, short tcp) noexcept;
  /// How long a thread may sleep until it looks again; zero: as long as it likes.
  std::chrono::milliseconds longest_sleep() noexcept;
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
  static constexpr short kReadable = POLLIN | POLLRDNORM;
  static constexpr short kWritable = POLLOUT | POLLWRNORM;
  /// No errno value: the direction has changed, or may have; look again.
  static constexpr int kLookAgain = -1;

  /// What a direction over a stream begins with: the bytes that were sent over TCP before.
  using Beginning = std::uint64_t;
  /// Bytes of a direction over a stream that are the library's: that it was taken, and that.
  static constexpr std::size_t kOwnBytes = 1 + sizeof(Beginning);
  enum class Out : std::uint8_t { kTcp, kStream, kTcpAgain };
  enum class In : std::uint8_t { kTcp, kRest, kStream, kEnded, kOrphaned, kTcpAgain, kLost, kCut };

  /// The stream brings nothing more, and what the peer says over TCP then is not there yet.
  bool waits_for_word() const noexcept { return in_ == In::kEnded || in_ == In::kOrphaned; }
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
  /// This direction goes on with TCP: for the end, or without a word of the peer.
  void leave_stream() noexcept;
  /// It goes on with bytes over TCP, after a word; the peer shall do the same.
  void hand_over() noexcept;
  void end_sending(int fd) noexcept;
  int why_broken(int fd) noexcept;
  int receive_ahead_bytes(Buffers& buffers, int flags) noexcept;
  bool look_for_end(int fd) noexcept;
  bool hear_end(int fd) noexcept;
  void answer(int fd) noexcept;
  int send_foreign(int fd, Buffers& buffers, int flags) noexcept;
  int receive_returned(int fd, Buffers& buffers, int flags) noexcept;
  short returned_events(int fd) noexcept;
  /// No process goes on with it once this one has closed it, or none that would know how.
  bool ends_with_owner() const noexcept;
  bool is_returned() const noexcept { return foreign_ || given_; }
  void look_at_returned(int fd) noexcept;
  void pass_on(int fd) noexcept;
  void ask_back() noexcept;
  void inherit(int fd) noexcept;
  void tell_heirs(int fd) noexcept;
  void speak_for_owner(int fd) noexcept;
  void finish_word(int fd) noexcept;
  void take_remains(int fd) noexcept;
  void note_resumable() noexcept;
  /// Before bytes leave the stream for memory of this process, or the stream ends.
  void forget_resumable() noexcept;
  In after_break() noexcept;
  void hear_survivor(int fd) noexcept;
  void settle_returned() noexcept;
  void cut(int fd) noexcept;
  void reset_if_unread(int fd) noexcept;

  std::unique_ptr<streams::Stream> stream_;
  std::uint64_t generation_ = 0;
  bool connected_here_ = false;
  bool other_host_ = false;
  bool pinned_ = false;
  /// The stream is another process's.
  bool foreign_ = false;
  Owner owner_;
  /// The copy of what the owner has, of which only the memory means something.
  const streams::Stream* owners_stream_ = nullptr;
  /// Since when it waits for another process of the peer.
  std::chrono::steady_clock::time_point orphaned_since_;
  /// The stream is this process's, but what it brings may be read by others.
  bool given_ = false;
  bool is_shared_ = false;
  /// Looks for what the owner does, in vain.
  unsigned looks_ = 0;
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
  /// Bytes that this side has sent over the stream, and the bytes of the word about it that come
  /// before all others over TCP.
  std::uint64_t streamed_ = 0;
  unsigned word_left_ = 0;
  /// Changes of direction, which are edges, too.
  std::uint64_t changes_ = 0;
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
