// SPDX-License-Identifier: MIT
// One connection: bytes in order, in both directions, until either side ends or dies.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "dtutils/protection_domain.hpp"
#include "streams/options.hpp"
#include "streams/result.hpp"

namespace streams {

struct Introduction;
class Handshake;
class Packetized;
class Credits;
class ZeroCopy;

/// A stream, by default with packetized flow control (paper 003, section 6): a ring in the
/// receiver's memory that the sender manages. A send writes the bytes tightly behind those before
/// them; the receiver gives space back when it has taken a quarter of the ring.
///
/// Small sends to a receiver that does not look are packed: they stay in the memory of this process
/// until the receiver looks, which then gets them without this process. They are lost, as what a
/// device still has, when this process is killed, or ends without destroying the stream.
///
/// The data path does not allocate, lock, or make system calls; the device does one to wake a
/// sleeper, the sides of a direction take memory for a larger ring, once
/// (StreamOptions::largest_ring), and with kZeroCopy memory that is new to the stream is
/// registered. (On devices that do not tell of a peer's death, looks in vain make one each
/// kLookForPeer.) Made by Listener::accept and `connect`, accept_over and connect_over. All
/// methods: owner thread only, one thread at a time; a child made by fork(2) may not use it, but
/// for the calls that say so.
class Stream {
 public:
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  /// Ends sending and waits, for kLinger at most, until the device has delivered what was sent. The
  /// peer sees a reset instead of the end when bytes that had arrived were not received, as with
  /// TCP.
  ~Stream();

  /// Sends as much as there is space for, from several buffers as if they were one. kOk also when
  /// that is not all.
  Result try_send(std::span<const iovec> buffers) noexcept;
  /// The same from one buffer.
  Result try_send(std::span<const std::byte> bytes) noexcept;
  /// Sends all; waits for space, at first with the processor, then asleep. With kZeroCopy it waits
  /// until the peer has read what it does not copy; when `timeout` is over the answer counts what
  /// the peer has, and a peer that is reading at that moment delays it by kPatienceWithReader.
  Result send(std::span<const std::byte> bytes, std::chrono::milliseconds timeout) noexcept;

  /// As try_send, but with StreamOptions::asynchronous it leaves whole pages to be read by the
  /// peer, as `send` does, when there are enough of them and none are left already. The answer
  /// counts them.
  Result try_send_asynchronously(std::span<const std::byte> bytes) noexcept;

  /// Waits until the peer has read what was sent asynchronously (StreamOptions::asynchronous):
  /// kOk, kTimeout, or kBrokenPipe when it never will. Before that the memory may be written, but
  /// not be unmapped, discarded or moved (munmap, madvise, mremap; free(3) and realloc(3) of large
  /// blocks do it), which resets the stream, unless detach_sent_memory was called.
  Status settle(std::chrono::milliseconds timeout) noexcept;

  /// Receives what is there, into several buffers as if they were one.
  Result try_receive(std::span<const iovec> buffers) noexcept;
  /// The same into one buffer.
  Result try_receive(std::span<std::byte> into) noexcept;
  /// Receives at least one byte; waits for it, at first with the processor, then asleep.
  Result receive(std::span<std::byte> into, std::chrono::milliseconds timeout) noexcept;
  /// As try_receive, but the bytes stay.
  Result try_peek(std::span<std::byte> into) noexcept;

  /// Tells the peer that no more bytes come (half-close); receiving goes on.
  void finish_sending() noexcept;
  /// The same, and tells it that the bytes after these come on another way, which the two have
  /// agreed on: see handed_over(). Nothing more after finish_sending().
  void hand_over() noexcept;

  /// Bytes that can be received now.
  std::size_t readable() noexcept;
  /// Bytes that can be sent now.
  std::size_t writable() noexcept;
  /// True when a receive would answer something else than kWouldBlock.
  bool receive_ready() noexcept;
  /// True when a send would answer something else than kWouldBlock.
  bool send_ready() noexcept;

  /// True when the peer has ended its sending by hand_over(), whether its last bytes were received
  /// or not.
  bool handed_over() noexcept;
  /// True when the peer has closed the stream. False while it is open, and when the peer was
  /// killed, or has become another program (exec), before it closed it: then the bytes that it had
  /// not received are lost.
  bool closed_by_peer() noexcept;

  // Several processes may have a connection, by fork(2), and a way besides the stream, such as TCP.
  // When the one that has the stream, its owner, dies, another one and the peer can go on there,
  // and tell whether all bytes have come. Packetized flow control on shm only.
  //
  //   survivor                                    peer
  //   survivor_word()     ---- other way --->     has_all(word)
  //   owner_was_sent()    <--- other way ----     how many bytes it has sent over the stream
  //   as many, or more: copy_unreceived

  /// By the owner: whether its peer shall wait for a survivor when this process dies. Both sides
  /// pack nothing meanwhile, and a send answers kBrokenPipe, and counts nothing, when the owner had
  /// died before.
  void announce_sharing(bool shared) noexcept;
  /// By the peer: true when the stream broke because the owner died, and others may go on.
  bool awaits_survivor() noexcept;
  /// By the peer, after that: whether all bytes have arrived that the owner had sent. False also
  /// for a word that no survivor says.
  bool has_all(std::uint64_t word) const noexcept;

  // By a child made by fork(2) when the stream was there, and once the owner has ended. These calls
  // read memory that the child shares with it; any thread.
  /// Empty: it cannot go on.
  std::optional<std::uint64_t> survivor_word() const noexcept;
  /// How many bytes the owner has received.
  std::uint64_t owner_received() const noexcept;
  /// How many bytes of the peer have arrived.
  std::uint64_t owner_was_sent() const noexcept;
  /// Whether the peer had ended its sending.
  bool owner_was_sent_end() const noexcept;
  /// Copies what was not received, up to the byte `end` of all that have arrived. How many bytes.
  std::size_t copy_unreceived(std::span<const iovec> into, std::uint64_t end) const noexcept;

  /// For poll(2) and epoll(7), edge by edge: after `arm` it becomes readable when something
  /// changes, be it bytes, space or the end. Then look with receive_ready and send_ready.
  int descriptor() const noexcept;
  /// Asks for the next event on the descriptor, and takes what came before off it. Look once more
  /// after it and before you sleep: what arrived before makes no event. Makes system calls.
  void arm() noexcept;

 private:
  friend class Handshake;

  Stream(dtutils::ProtectionDomain& domain, const StreamOptions& options);
  Introduction introduction() const;
  void meet(const Introduction& peer);
  void keep(int meeting);
  /// Calls `call` with the flow control that this stream has.
  template <class Call>
  decltype(auto) with_flow(Call call) const {
    if (packetized_ != nullptr) return call(*packetized_);
    return zero_copy_ != nullptr ? call(*zero_copy_) : call(*credits_);
  }
  template <class Ready>
  bool wait(Ready ready, std::chrono::steady_clock::time_point end) noexcept;
  bool offer(std::span<const std::byte> bytes, std::chrono::steady_clock::time_point end,
             Result& result) noexcept;
  void close_gracefully() noexcept;

  /// One of the three.
  std::unique_ptr<Packetized> packetized_;
  std::unique_ptr<ZeroCopy> zero_copy_;
  std::unique_ptr<Credits> credits_;
};

/// Whether this process may protect memory so that StreamOptions::asynchronous has an effect. Setup
/// only.
bool may_send_asynchronously(PageProtection way = PageProtection::kUserfaultfd) noexcept;

/// False: nothing that this process has sent asynchronously is protected any more, and
/// detach_sent_memory would do nothing. Any thread, wait-free.
bool has_sent_memory() noexcept;

/// What streams of this process have sent asynchronously from this memory, and their peers have not
/// read, is copied aside: so the memory may be unmapped, discarded or moved at once. Costs nothing
/// while all such sends are settled. Any thread; it waits for others that copy, and for a peer that
/// is reading at this moment, for kPatienceWithReader at most; it does not allocate. Not for
/// handlers of signals.
void detach_sent_memory(const void* begin, std::size_t size) noexcept;

}  // namespace streams
