// SPDX-License-Identifier: MIT
// Wait-free selective signaling among threads that share a queue pair (Seriema 4.1).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "dtutils/limits.hpp"

namespace dtutils {

/// A promise that a piece of memory is free again: true once the counter has passed the ticket.
/// Trivially copyable. It may outlive the Transmitter that gave it, and is done from then on; the
/// protection domain of that Transmitter must outlive it. Any thread, wait-free.
struct RetireTag {
  /// The counter of retired requests; nullptr: an empty tag.
  const std::atomic<std::uint64_t>* retired = nullptr;
  /// The request that must be retired.
  std::uint64_t ticket = 0;

  /// An empty tag is done. Acquire: pairs with the release in SelectiveSignaling::retire, so that a
  /// reuse of the memory happens after the device was seen to be done with it.
  bool done() const noexcept {
    return retired == nullptr || retired->load(std::memory_order_acquire) > ticket;
  }
};

/// n, k, T and W of the protocol; see SelectiveSignaling for the relations they must keep.
struct SignalingParameters {
  /// n: most threads that may use it at the same time. With 1 the counters cost no locked
  /// instruction; then two calls must never overlap, whichever threads they are made by.
  std::uint32_t sharing_threads = kSharingThreads;
  /// k: one request in this many is signaled. A power of two.
  std::uint32_t signal_interval = kSignalInterval;
  /// T: from this many unretired requests on, every request is signaled.
  std::uint32_t signal_all_from = kSignalAllFrom;
  /// W: most unretired requests.
  std::uint32_t window = kWindow;

  /// The usual k and T with a window that `threads` threads need.
  static SignalingParameters for_threads(std::uint32_t threads) noexcept;

  /// What the protocol can have outstanding on the send queue: W + n - 1.
  std::uint32_t needed_send_depth() const noexcept { return window + sharing_threads - 1; }
  /// What it can leave in the completion queue: every outstanding request when the queue pair
  /// breaks, since then unsignaled ones complete too, and the marker that ends the clean-up.
  std::uint32_t needed_completion_depth() const noexcept { return needed_send_depth() + 1; }

  /// Throws Error that names the relation which does not hold. Setup only.
  void check(std::uint32_t send_depth, std::uint32_t completion_depth) const;
};

/// Decides which work requests are signaled and when memory may be used again. It knows no device:
/// the caller posts and polls. The protocol, for one request:
///
///     ticket = take()
///     while admit(ticket) == kWait: poll one completion, and retire(its ticket)
///     post it with its ticket, signaled if admit said so
///     its memory may be used again when tag(), asked after the post returned, is done
///
/// with issued and retired the two counters, take() = issued++, retire(s): retired = max(retired,
/// s + 1), tag() = {issued, done when retired > it}, and admit(t): wait while t - retired >= W;
/// signaled if t is the last of k, or if t - retired >= T.
///
/// Why it is right. At most n threads; each may stop for good between any two steps. The device
/// executes in the order of posts and completes in that order; polling a completion frees the send
/// queue's slots of that request and of all posted before it.
///  1. *Send queue.* At most W + n - 1 requests are outstanding. Let s be the largest ticket polled
///     so far. Whoever was admitted saw retired <= s + 1, so tickets above s + W are not posted:
///     at most W outstanding tickets are above s. An outstanding ticket below s was posted after s
///     but taken before it, so its thread held it, unposted, when s was posted: one for each other
///     thread, n - 1. (Before the first poll the same holds with s = 0.)
///  2. *Completion queue.* What is in it is outstanding in that sense: the bound of 1 holds, plus
///     one for the marker after a failure.
///  3. *No reuse before completion.* retired > tag means that some ticket s >= tag has completed.
///     Posts of one queue pair are totally ordered by the lock inside ibv_post_send. Had s been
///     posted before our request, its take() would happen before our post, and tag(), read after
///     our post, would be at least s + 1. So s was posted after our request, which is done too.
///  4. *Nobody is blocked* by threads that stopped, if W - T >= 2n - 1. Say a thread waits without
///     end with ticket t; retired has its final value r, and t >= r + W. All tickets of the band [r
///     + T, r + W) were taken. One of them that was posted saw retired <= r, was signaled, and
///     completes; polled by a live thread it would raise retired above r. So each ticket of the
///     margin is unposted, or was polled but not retired, by a thread that stopped; live threads
///     that wait hold tickets from r + W on. A stopped thread can hold one of each kind (it polls
///     while it holds a ticket), so n - 1 of them account for at most 2(n - 1) tickets, and the
///     margin has more. One completion at a time must be polled for this. The wait is bounded: no
///     ticket above t is posted meanwhile, so only the at most W + n - 1 outstanding requests and
///     the n - 1 smaller unposted tickets complete before t may pass.
/// Spin checks 1 to 4 with three threads: tests/dtutils/model/selective_signaling.pml.
///
/// Tickets start at 1. Any thread, wait-free, unless said otherwise.
class SelectiveSignaling {
 public:
  /// `parameters` must have passed check(). Setup only.
  explicit SelectiveSignaling(const SignalingParameters& parameters) noexcept
      : interval_mask_(parameters.signal_interval - 1),
        window_(parameters.window),
        exclusive_(parameters.sharing_threads == 1),
        signal_threshold_(parameters.signal_all_from) {}
  SelectiveSignaling(const SelectiveSignaling&) = delete;
  SelectiveSignaling& operator=(const SelectiveSignaling&) = delete;

  /// How a request is to be posted.
  enum class Admission : std::uint8_t {
    /// Without a signal.
    kUnsignaled,
    /// With a signal.
    kSignaled,
    /// Poll and ask again.
    kWait,
    /// fail() was called: the ticket is not to be posted.
    kBroken,
  };

  /// One thread takes all tickets.
  bool exclusive() const noexcept { return exclusive_; }

  /// The next ticket. Each is posted or given up by the thread that took it.
  std::uint64_t take() noexcept {
    if (exclusive_) {
      const std::uint64_t ticket = issued_.load(std::memory_order_relaxed);
      issued_.store(ticket + 1, std::memory_order_relaxed);
      look_ahead(ticket);
      return ticket;
    }
    return take_shared();
  }
  /// The same, when it is not exclusive().
  std::uint64_t take_shared() noexcept {
    // Relaxed: argument 3 needs only the order of this counter and of the posts.
    return issued_.fetch_add(1, std::memory_order_relaxed);
  }

  /// With one thread, most of the time: a ticket that needs no look at the window, because it is to
  /// be posted unsignaled. False: take() gives one.
  bool try_take_unsignaled(std::uint64_t& ticket) noexcept {
    ticket = issued_.load(std::memory_order_relaxed);
    if (ticket >= unsignaled_below_) return false;
    issued_.store(ticket + 1, std::memory_order_relaxed);
    return true;
  }

  /// The common case of admit, in one comparison: the ticket is below the threshold and nothing has
  /// failed, so it is posted, and it is signaled if signals_regularly().
  bool below_signal_threshold(std::uint64_t ticket) const noexcept {
    // Acquire: pairs with retire, so that slots freed by the poll before it are seen to be free.
    // A ticket that others have overtaken wraps round and takes the slow way, as all do after fail.
    return ticket - retired_.load(std::memory_order_acquire) <
           signal_threshold_.load(std::memory_order_relaxed);
  }
  /// Whether the ticket is the one in k that is always signaled.
  bool signals_regularly(std::uint64_t ticket) const noexcept {
    return (ticket & interval_mask_) == interval_mask_;
  }

  /// How the ticket is to be posted now.
  Admission admit(std::uint64_t ticket) const noexcept {
    // Acquire: pairs with fail, so that a thread that is refused knows the cause.
    const std::uint64_t threshold = signal_threshold_.load(std::memory_order_acquire);
    if (threshold == kNoThreshold) {
      return Admission::kBroken;
    }
    const auto unretired =
        static_cast<std::int64_t>(ticket - retired_.load(std::memory_order_acquire));
    if (unretired >= static_cast<std::int64_t>(window_)) {
      return Admission::kWait;
    }
    return unretired >= static_cast<std::int64_t>(threshold) || signals_regularly(ticket)
               ? Admission::kSignaled
               : Admission::kUnsignaled;
  }

  /// A completion of this ticket was polled, and it was a success.
  void retire(std::uint64_t ticket) noexcept { raise(ticket + 1); }

  /// The queue pair is broken: from now on every ticket is answered with kBroken. Tags stay as they
  /// are, since the device may still be busy with their memory.
  void fail() noexcept {
    signal_threshold_.store(kNoThreshold, std::memory_order_release);
    if (exclusive_) unsignaled_below_ = 0;
  }
  /// After fail(), when everything posted before it has been flushed: all tags are done.
  void retire_all() noexcept { raise(kAllRetired); }
  /// That was called.
  bool all_retired() const noexcept { return retired() >= kAllRetired; }

  /// For memory used by posts that have returned. With one thread it is that of the last post
  /// itself; among several the next ticket stands for it, because a smaller one may have been
  /// posted later.
  RetireTag tag() const noexcept {
    // Relaxed: the lock inside the post before it keeps the load behind it (argument 3).
    return {&retired_, issued_.load(std::memory_order_relaxed) - exclusive_};
  }

  /// The tag is one of these tickets'.
  bool owns(RetireTag tag) const noexcept { return tag.retired == &retired_; }

  /// One more than the largest ticket known to have completed.
  std::uint64_t retired() const noexcept { return retired_.load(std::memory_order_acquire); }
  /// The ticket that take() would give now.
  std::uint64_t issued() const noexcept { return issued_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t kNoThreshold = 0;
  static constexpr std::uint64_t kAllRetired = std::uint64_t{1} << 63;

  /// With one thread: the tickets behind `ticket` need no look at the window, up to the next one
  /// that signals_regularly() or lies above the threshold. retired_ only grows meanwhile.
  void look_ahead(std::uint64_t ticket) noexcept {
    const std::uint64_t threshold = signal_threshold_.load(std::memory_order_relaxed);
    unsignaled_below_ = threshold == kNoThreshold
                            ? 0
                            : std::min((ticket + 1) | interval_mask_,
                                       retired_.load(std::memory_order_relaxed) + threshold);
  }

  /// Wait-free: each failed exchange means that the counter grew towards `to`.
  void raise(std::uint64_t to) noexcept {
    std::uint64_t seen = retired_.load(std::memory_order_relaxed);
    if (exclusive_) {
      // Release: pairs with RetireTag::done in a thread that is handed the memory.
      retired_.store(seen < to ? to : seen, std::memory_order_release);
      return;
    }
    while (seen < to && !retired_.compare_exchange_weak(seen, to, std::memory_order_release,
                                                        std::memory_order_relaxed)) {
    }
  }

  // Each on a cache line of its own: issued changes with every post, retired with every completion,
  // the rest never (signal_threshold_: at the one failure).
  alignas(kCacheLine) std::atomic<std::uint64_t> issued_{1};
  /// See try_take_unsignaled; 0 among several threads.
  std::uint64_t unsignaled_below_ = 0;
  alignas(kCacheLine) std::atomic<std::uint64_t> retired_{1};
  alignas(kCacheLine) const std::uint64_t interval_mask_;
  const std::uint64_t window_;
  const bool exclusive_;
  std::atomic<std::uint64_t> signal_threshold_;
};

}  // namespace dtutils
