// SPDX-License-Identifier: MIT
// What one worker has of rings: those it sends into, and the receiver of those that lead to it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dsfabric/call_context.hpp"
#include "dsfabric/fabric.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/log.hpp"
#include "riutils/counters.hpp"
#include "riutils/detail/outgoing_ring.hpp"
#include "riutils/detail/ring_receiver.hpp"
#include "riutils/options.hpp"

namespace riutils {

class BackPressure;
class BatchedResults;

/// One for each worker of the process, made when somebody first asks: the worker itself, or a ring
/// that leads to it. Its rings live as long as the fabric: channels (RDMAMessenger, ...) come and
/// go, and calls of one thread to another keep their order across them.
///
/// Broadcasts that came through a ring go on through rings of this worker: at once, or queued while
/// a ring is full, so that no worker waits. They go on as messages when helper threads execute
/// them, when RingOptions::queue_limit is reached, or when the ring to the next worker cannot carry
/// them; so do their further steps.
///
/// A ring is between two threads, and each end goes by what its own fabric believes: when it calls
/// the other process failed or left, a sender gives the ring up for good (calls answer kPeerGone).
/// A receiver runs what arrived before its fabric broke the connections, and keeps the chunks as
/// long as the fabric lives; so a process that was given up and wakes writes into nothing that is
/// somebody else's by then, and finds its rings to here broken. What third processes believe does
/// not matter to a ring.
///
/// From `of` until the Thread ends, Thread::progress() sends what waits here and polls the
/// receiver. While handlers have made more calls than rings and RingOptions::queue_limit take, it
/// polls less often, the more they are; so the calls of handlers are neither lost nor pile up
/// without bound where the destination is slow. Owner thread only, unless a method says otherwise.
class RingSet final : private dsfabric::Forwarder {
 public:
  /// The ring set of a worker. Setup only.
  static RingSet& of(dsfabric::Thread& self);
  /// The same for a worker whose program has not asked for it, because others call it: calls run,
  /// but those that need a FiberPool wait until it has one, or asks for its ring set. Setup only.
  static RingSet& open(dsfabric::Thread& self);
  /// The worker has a ring set in this run(), and will in later ones. Any thread, wait-free.
  bool opened() const noexcept { return opened_.load(std::memory_order_relaxed); }

  /// For worker number `worker` of this process; users call of(). Setup only.
  RingSet(dsfabric::Fabric& fabric, std::uint32_t worker);
  RingSet(const RingSet&) = delete;
  RingSet& operator=(const RingSet&) = delete;
  ~RingSet();

  /// The fabric of the worker. Any thread, wait-free.
  dsfabric::Fabric& fabric() const noexcept { return fabric_; }
  /// The worker, while it lives.
  dsfabric::Thread& thread() const noexcept { return *thread_; }
  /// Whether the calling thread is that worker. Any thread.
  bool is_mine() const noexcept { return fabric_.current_thread() == thread_; }
  /// The rings that lead to this worker.
  detail::RingReceiver& receiver() noexcept { return receiver_; }
  /// Who polls the receiver: a helper thread (true), or progress() of this worker. Setup only.
  void delegate(bool to_helper) noexcept { delegated_ = to_helper; }
  /// Whether calls that come through rings run as fibers of this worker's FiberPool (true), but for
  /// run_inline() ones, or inline (false, as at the start), but for in_fiber() ones. While all
  /// stacks wait, calls stay in their rings; one that is larger than a quarter of a stack runs
  /// inline. Helper threads use pools of their own. Throws Error when the worker has no FiberPool,
  /// or a helper polls for it now. Setup only.
  void run_in_fibers(bool wanted);

  /// The ring to a thread, if there is one. The common part of a call.
  detail::OutgoingRing* find(dsfabric::ThreadId to) const noexcept {
    if (to.process.value >= processes_ || to.index >> shift_ != 0) return nullptr;
    return table_[place_of(to)].get();
  }
  /// The ring to a thread; makes it when there is none. Throws Error when there is no such thread,
  /// or no memory.
  detail::OutgoingRing& ring(dsfabric::ThreadId to, const RingOptions& options);

  /// For results: the ring that carries them to a thread; nullptr while there is none.
  detail::OutgoingRing* result_ring(dsfabric::ThreadId to) const noexcept;
  /// Makes that ring, if it can be had; it is there some time later. In a handler too.
  void ask_for_result_ring(dsfabric::ThreadId to) noexcept;

  /// Sends what is batched and queued, as far as there is room, and never waits. True when nothing
  /// is left. progress() goes on with the rest.
  bool flush() noexcept;
  /// Calls that this worker has made through rings, sent or not.
  std::uint64_t issued() const noexcept;
  /// Calls that this worker has made through rings to workers of these processes, sent or not.
  std::uint64_t issued(std::span<const dsfabric::ProcessId> processes) const noexcept;
  /// Times that a ring to another worker was found full.
  std::uint64_t stalls() const noexcept;
  /// Calls of others that have run here. Any thread, wait-free.
  std::uint64_t executed() const noexcept { return receiver_.executed(); }
  /// Calls of these processes that have run here. Any thread, wait-free.
  std::uint64_t executed(std::span<const dsfabric::ProcessId> processes) const noexcept {
    return receiver_.executed(processes);
  }
  /// Setup only.
  Counters counters() const;

  /// For rings: look at this one in each progress() until its attend() returns false.
  void attend_to(detail::OutgoingRing& ring);
  /// Grows by one in half of the longest time that batched calls may wait.
  std::uint64_t epoch() const noexcept { return epoch_; }
  /// For channels: batched calls wait no longer than this.
  void limit_age(std::chrono::nanoseconds age) noexcept { max_age_ = std::min(max_age_, age); }
  /// For channels: a ring that a broadcast needs is made with the options of the channel that has
  /// the largest chunks. The log is told, once, of a channel that comes after rings with other
  /// options.
  void prefer(const RingOptions& options) {
    if (!preferred_ || options.chunk_bytes > preferred_->chunk_bytes) preferred_ = options;
    if (!told_ && dtutils::logs(dtutils::LogLevel::kInfo)) tell_of_other_options(options);
  }

 private:
  bool forward(const dsfabric::CallContext& call, dsfabric::ThreadId to, std::uint32_t function,
               std::span<const std::byte> callable, std::span<const std::byte> extra) override;
  bool try_forward(dsfabric::ThreadId to, std::uint32_t function,
                   std::span<const std::byte> callable, std::span<const std::byte> extra);
  std::size_t place_of(dsfabric::ThreadId to) const noexcept {
    return std::size_t{to.process.value} << shift_ | to.index;
  }
  detail::OutgoingRing& add(std::unique_ptr<detail::OutgoingRing>& place,
                            std::unique_ptr<detail::OutgoingRing> made);
  bool step();
  bool look_after() noexcept;
  void tell_of_other_options(const RingOptions& wanted);

  dsfabric::Fabric& fabric_;
  dsfabric::Thread* thread_ = nullptr;
  const std::uint32_t processes_;
  std::uint32_t shift_ = 0;
  std::unique_ptr<std::unique_ptr<detail::OutgoingRing>[]> table_;
  /// The same for rings of results; nullptr until the first of them is made.
  std::unique_ptr<std::unique_ptr<detail::OutgoingRing>[]> result_table_;
  std::vector<detail::OutgoingRing*> rings_;
  std::optional<RingOptions> preferred_;
  bool told_ = false;
  /// Those that wait for something.
  std::vector<detail::OutgoingRing*> attended_;
  std::uint32_t steps_ = 0;
  std::uint64_t epoch_ = 0;
  std::unique_ptr<BackPressure> back_pressure_;
  std::unique_ptr<BatchedResults> results_;
  bool no_result_rings_ = false;
  bool delegated_ = false;
  std::atomic<bool> opened_{false};
  std::chrono::nanoseconds max_age_{std::chrono::microseconds{50}};
  dtutils::Clock::time_point looked_;
  detail::RingReceiver receiver_;
};

}  // namespace riutils
