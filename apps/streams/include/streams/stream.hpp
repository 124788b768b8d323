// SPDX-License-Identifier: MIT
// One connection: bytes in order, in both directions, until either side ends or dies.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dtutils/completion_queue.hpp"
#include "dtutils/memory_region.hpp"
#include "dtutils/queue_pair.hpp"
#include "dtutils/shared_segment.hpp"
#include "streams/limits.hpp"
#include "streams/result.hpp"

namespace streams {

struct Introduction;

/// A stream with packetized flow control (paper 003, section 6): a ring in the receiver's memory
/// that the sender manages. A send copies the bytes tightly behind those before it and writes them
/// there by one-sided writes whose immediate data say how many they are; the receiver gives space
/// back when it has taken a quarter of the ring.
///
/// The data path does not allocate, lock, or make system calls; the device does one to wake a
/// sleeper. Made by Listener::accept and `connect`. All methods: owner thread only, one thread at a
/// time; a child made by fork(2) may not use it.
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
  /// Sends all; waits for space, at first with the processor, then asleep.
  Result send(std::span<const std::byte> bytes, std::chrono::milliseconds timeout) noexcept;

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

  /// Bytes that can be received now.
  std::size_t readable() noexcept;
  /// Bytes that can be sent now.
  std::size_t writable() noexcept;
  /// True when a receive would answer something else than kWouldBlock.
  bool receive_ready() noexcept;
  /// True when a send would answer something else than kWouldBlock.
  bool send_ready() noexcept;

  /// For poll(2) and epoll(7), edge by edge: after `arm` it becomes readable when something
  /// changes, be it bytes, space or the end. Then look with receive_ready and send_ready.
  int descriptor() const noexcept { return watched_; }
  /// Asks for the next event on the descriptor, and takes what came before off it. Look once more
  /// after it and before you sleep: what arrived before makes no event. Makes system calls.
  void arm() noexcept;

 private:
  friend class Listener;
  friend std::unique_ptr<Stream> connect(dtutils::ProtectionDomain&, std::string_view,
                                         std::chrono::milliseconds);

  explicit Stream(dtutils::ProtectionDomain& domain);
  Introduction introduction() const;
  void meet(const Introduction& peer);
  /// Takes over the socket over which the two sides met: it tells of the peer's death on devices
  /// that do not.
  void keep(int meeting);

  template <class Ready>
  bool wait(Ready ready, std::chrono::steady_clock::time_point end) noexcept;
  Result copy_out(std::span<const iovec> buffers) noexcept;
  std::size_t space() const noexcept;
  void progress() noexcept;
  void poll_receives() noexcept;
  void poll_sends() noexcept;
  void on_message(std::uint32_t immediate) noexcept;
  void return_space() noexcept;
  void send_end() noexcept;
  dtutils::PostResult post_control(std::uint32_t immediate) noexcept;
  unsigned next_flags(bool must) const noexcept;
  bool count_post(dtutils::PostResult posted, unsigned flags) noexcept;
  void close_gracefully() noexcept;
  bool hung_up() const noexcept;

  /// Half of it is the staging ring, a copy of what is on its way; the other half is the ring that
  /// the peer writes.
  dtutils::SharedSegment memory_;
  dtutils::MemoryRegion region_;
  dtutils::CompletionChannel channel_;
  dtutils::CompletionQueue sends_;
  dtutils::CompletionQueue receives_;
  dtutils::QueuePair pair_;
  dtutils::RemoteMemoryLocator ring_there_{};
  /// The socket over which the sides met; -1 on devices that notice themselves that a peer died.
  int meeting_ = -1;
  /// The channel's descriptor, or an epoll instance of it and of the socket.
  int watched_;

  /// Counts of bytes since the beginning: given to the device, known to be delivered by it, and
  /// taken by the peer. The staging ring and the peer's ring are both free up to the smaller one.
  std::uint64_t sent_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t taken_there_ = 0;
  std::uint64_t signaled_ = 0;
  /// Messages of data that the peer has not looked at, as far as this side knows.
  std::uint32_t messages_there_ = 0;
  /// Requests since the last signaled one; signaled ones, and how many of them are done.
  std::uint32_t unsignaled_ = 0;
  std::uint64_t signals_posted_ = 0;
  std::uint64_t signals_seen_ = 0;

  /// Counts of bytes that have arrived, were received here, and were given back to the peer.
  std::uint64_t arrived_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t returned_ = 0;
  std::uint32_t messages_ = 0;

  /// Half-close was asked for; the message that says so was given to the device.
  bool end_wanted_ = false;
  bool end_sent_ = false;
  /// The peer said that it sends no more; that it receives no more; that it left bytes unread.
  bool peer_ended_ = false;
  bool peer_closed_ = false;
  bool peer_reset_ = false;
  /// The queue pair is broken; all that had arrived before was polled.
  bool broken_ = false;
  bool flushed_ = false;
};

}  // namespace streams
