// SPDX-License-Identifier: MIT
// What both flow controls stand on: memory, a queue pair with its queues, and a descriptor to wait
// on.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "dtutils/completion_queue.hpp"
#include "dtutils/memory_region.hpp"
#include "dtutils/queue_pair.hpp"
#include "dtutils/shared_segment.hpp"
#include "dtutils/wait.hpp"
#include "introduction.hpp"

namespace streams {

/// Owns the objects of the device for one stream, and counts the requests of the send queue: one in
/// kSignalInterval is signaled. Owner thread only.
class Link {
 public:
  struct Sizes {
    std::size_t memory;
    std::uint32_t receives;
    std::uint32_t inline_bytes;
  };
  Link(dtutils::ProtectionDomain& domain, const Sizes& sizes);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  /// Fields that are the same for all flow controls.
  Introduction introduction(FlowControl flow) const;
  void connect(const Introduction& peer);
  bool connected() const noexcept { return peer_.length != 0; }
  /// Takes over the socket over which the two sides met: it tells of the peer's death on devices
  /// that do not.
  void keep(int meeting);
  /// For a side that finds nothing and never sleeps: looks at that socket once in kLookForPeer.
  void look_for_peer() noexcept {
    if (meeting_ >= 0 && ++fruitless_looks_ % kLooksPerClock == 0) [[unlikely]]
      look_at_meeting();
  }

  /// `size` bytes of the peer's memory.
  dtutils::RemoteMemoryLocator there(std::uint64_t offset, std::uint64_t size) const noexcept {
    return peer_.part(offset, size);
  }
  std::byte* data() const noexcept { return memory_.data(); }
  /// Has the kernel allocate a part of the memory now. False: there is not so much.
  bool take_pages(std::size_t offset, std::size_t size) noexcept {
    return memory_.try_take_pages(offset, size);
  }
  const dtutils::MemoryRegion& region() const noexcept { return region_; }
  dtutils::QueuePair& pair() noexcept { return pair_; }
  bool on_shm() const noexcept;

  /// Room for so many requests, as far as completions have told.
  bool has_room(std::uint32_t requests) const noexcept {
    return posted_ - retired_ + requests <= kRequests;
  }
  /// Waits, for kPatienceForRoom at most, until there is: for what the peer needs, where the
  /// program may make no other call before the peer has gone on. `poll` calls poll_sends.
  template <class Poll>
  void await_room(std::uint32_t requests, Poll poll) noexcept {
    if (has_room(requests)) return;
    dtutils::Deadline deadline(kPatienceForRoom);
    dtutils::Backoff backoff;
    for (;;) {
      poll();
      // Once while the network stands still.
      if (has_room(requests) || broken_ || retired_ == stuck_at_) return;
      if (deadline.passed()) break;
      backoff.pause();
    }
    stuck_at_ = retired_;
  }
  /// All that was posted is done.
  bool idle() const noexcept { return posted_ == retired_; }
  /// Flags for the next request.
  unsigned flags(bool must_signal) const noexcept {
    return must_signal || unsignaled_ + 1 >= kSignalInterval ? dtutils::kSignaled
                                                             : dtutils::kUnsignaled;
  }
  /// Counts a request that was posted with those flags. False: it was refused, and the link is
  /// broken, unless the queue was full.
  bool count(dtutils::PostResult posted, unsigned flags) noexcept {
    if (posted != dtutils::PostResult::kOk) [[unlikely]] {
      if (posted != dtutils::PostResult::kFull) broken_ = true;
      return false;
    }
    ++posted_;
    ++unsignaled_;
    if ((flags & dtutils::kSignaled) != 0) {
      posted_at_[signals_++ % kRequests] = posted_;
      unsignaled_ = 0;
    }
    return true;
  }

  /// Calls `done(wr_id)` for each signaled request that is done. False: none was.
  template <class Done>
  bool poll_sends(Done done) noexcept {
    std::array<ibv_wc, 8> completions;
    const int count = sends_.poll(completions);
    if (count < 0) broken_ = true;
    if (count > 0) hears_peer_ = true;
    if (count > 0 && std::exchange(sends_armed_, false)) ++events_due_;
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[static_cast<std::size_t>(i)];
      if (completion.status != IBV_WC_SUCCESS) {
        broken_ = true;
        continue;
      }
      retired_ = posted_at_[signals_seen_++ % kRequests];
      done(completion.wr_id);
    }
    return count > 0;
  }
  /// Calls `arrived(completion)` for each message, but for so many at a time: true when there may
  /// be more. `flushed` turns true behind the last one.
  template <class Arrived>
  bool poll_receives(Arrived arrived) noexcept {
    std::array<ibv_wc, 8> completions;
    const int count = receives_.poll(completions);
    if (count < 0) broken_ = flushed_ = true;
    if (count > 0) hears_peer_ = true;
    if (count > 0 && std::exchange(receives_armed_, false)) ++events_due_;
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[static_cast<std::size_t>(i)];
      if (completion.status == IBV_WC_SUCCESS) {
        arrived(completion);
      } else {
        broken_ = flushed_ = true;
      }
    }
    return count == static_cast<int>(completions.size());
  }

  /// The queue pair cannot be used any more.
  bool broken() const noexcept { return broken_; }
  /// And nothing more will arrive.
  bool flushed() const noexcept { return flushed_; }
  /// The peer does not keep to the protocol.
  void give_up() noexcept { broken_ = flushed_ = true; }

  int descriptor() const noexcept { return watched_; }
  /// Takes events off the descriptor: those of completions that were seen, and one at least.
  void drain_events() noexcept;
  /// Asks for the next receive, and with `sends` for the next send that is under way: a request
  /// that is posted later makes no event. Finds also that the peer is gone, unless completions came
  /// since the last call: then the socket makes the descriptor readable, and the next call finds
  /// it.
  void arm(bool sends = true) noexcept;
  /// Asks for the next send, also for one that is posted later.
  void arm_sends() noexcept { sends_armed_ = sends_.arm(); }

 private:
  /// Fruitless looks between two looks at the clock.
  static constexpr std::uint32_t kLooksPerClock = 8;

  bool hung_up() const noexcept;
  void look_at_meeting() noexcept;

  dtutils::SharedSegment memory_;
  dtutils::MemoryRegion region_;
  dtutils::CompletionChannel channel_;
  dtutils::CompletionQueue sends_;
  dtutils::CompletionQueue receives_;
  dtutils::QueuePair pair_;
  dtutils::RemoteMemoryLocator peer_{};
  /// The socket over which the sides met; -1 on devices that notice themselves that a peer died.
  int meeting_ = -1;
  /// The channel's descriptor, or an epoll instance of it and of the socket.
  int watched_;
  std::uint32_t fruitless_looks_ = 0;
  std::chrono::steady_clock::time_point looked_at_meeting_{};

  /// Requests posted, and known to be done; those since the last signaled one.
  std::uint64_t posted_ = 0;
  std::uint64_t retired_ = 0;
  std::uint32_t unsignaled_ = 0;
  /// What was known to be done when a wait for room was in vain.
  std::uint64_t stuck_at_ = UINT64_MAX;
  /// Signaled ones, and how many of them are done; for each, how many requests were posted then.
  std::uint64_t signals_ = 0;
  std::uint64_t signals_seen_ = 0;
  std::array<std::uint64_t, kRequests> posted_at_{};
  /// Queues that make an event at the next completion, and events whose completions were seen.
  bool sends_armed_ = false;
  bool receives_armed_ = false;
  std::uint32_t events_due_ = 0;
  /// There were completions since the last `arm`.
  bool hears_peer_ = false;
  bool broken_ = false;
  bool flushed_ = false;
};

}  // namespace streams
