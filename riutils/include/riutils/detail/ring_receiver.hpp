// SPDX-License-Identifier: MIT
// The receiving end of all rings that lead to one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dsfabric/call_context.hpp"
#include "dsfabric/detail/peer_counts.hpp"
#include "dsfabric/thread.hpp"
#include "riutils/counters.hpp"
#include "riutils/detail/ring_header.hpp"

namespace riutils {
class PollModeration;
class IncomingRing;
struct NewChunks;
}  // namespace riutils

namespace riutils::detail {

/// Finds calls in the rings of a thread and runs them. There is one for each worker of a process;
/// rings join it without its help, through service threads. A RingSet makes Thread::progress() poll
/// it; or a helper thread does, see RingSet::delegate.
///
/// Calls of one ring run in their order, each once. What a callable throws goes to
/// Fabric::report_exception, and the next call follows; when that throws, it leaves poll(), and the
/// next poll goes on behind the call that threw. An invalid record fails the process that sent it,
/// and its ring is never read again.
class RingReceiver {
 public:
  /// For calls to worker number `worker` of this process.
  RingReceiver(dsfabric::Fabric& fabric, std::uint32_t worker);
  RingReceiver(const RingReceiver&) = delete;
  RingReceiver& operator=(const RingReceiver&) = delete;
  ~RingReceiver();

  /// Runs calls that have arrived, from each ring at most a few kilobytes. True when there was one,
  /// or when more are expected at once: in the midst of a stream a ring is left alone for up to 16
  /// microseconds, so that its sender is not disturbed. Inside a handler: false. Results of calls
  /// go to `results`, if there is one, which must know how to send them. With kResults, it polls
  /// rings of results only, which run no code of users. One thread at a time.
  bool poll(dsfabric::detail::ResultBatcher* results = nullptr, RingKind least = RingKind::kCalls);
  /// What handlers find in their CallContext: the worker, nullptr while there is none, and the
  /// channel through which broadcasts go on. One thread at a time, not during poll.
  void serve_for(dsfabric::Thread* worker, dsfabric::Forwarder* forwarder) noexcept {
    worker_ = worker;
    forwarder_ = forwarder;
  }

  /// Whether calls run in the FiberPool of the thread that polls, where it has one, or inline. One
  /// thread at a time, not during poll.
  void run_in_fibers(bool wanted) noexcept { in_fibers_ = wanted; }
  /// Whether calls that need a FiberPool wait in their ring while there is none (true), or end with
  /// an Error. One thread at a time, not during poll.
  void defer_fibers(bool wanted) noexcept { defer_fibers_ = wanted; }
  /// As defer_fibers said last.
  bool defers_fibers() const noexcept { return defer_fibers_; }

  /// Calls run so far; one that throws counts. Any thread, wait-free.
  std::uint64_t executed() const noexcept { return executed_.sum(); }
  std::uint64_t executed(std::span<const dsfabric::ProcessId> processes) const noexcept {
    return executed_.sum(processes);
  }
  /// Rings that lead here. Any thread, wait-free.
  std::uint32_t rings() const noexcept { return joined_.load(std::memory_order_acquire); }
  /// One thread at a time, as poll.
  std::vector<IncomingCounters> counters() const;

  /// For service threads: chunks that a sender was given here, from the next poll on. Any thread
  /// (takes a lock).
  void join(NewChunks chunks);

 private:
  bool take_arrivals();
  bool serve(std::size_t ring);
  void resume_paused();
  IncomingRing& ring_from(const NewChunks& chunks);

  dsfabric::Fabric& fabric_;
  const std::uint32_t index_;
  dsfabric::Thread* worker_ = nullptr;
  dsfabric::Forwarder* forwarder_ = nullptr;
  dsfabric::detail::ResultBatcher* results_ = nullptr;
  bool polling_ = false;
  bool in_fibers_ = false;
  bool defer_fibers_ = true;
  /// The words that announce the next record, side by side, so that an idle poll touches one line
  /// of this array for eight rings, and the line of each word, which stays in this core's cache.
  std::vector<const std::uint64_t*> header_words_;
  std::vector<std::unique_ptr<IncomingRing>> rings_;
  std::vector<PollModeration> moderation_;
  /// Rings that are left alone for now.
  std::uint32_t paused_ = 0;
  std::uint64_t polls_ = 0;
  std::uint32_t arrivals_taken_ = 0;
  alignas(64) dsfabric::detail::PeerCounts executed_;
  std::atomic<std::uint32_t> joined_{0};
  /// Written with every join; read by polls.
  alignas(64) std::atomic<std::uint32_t> arrivals_{0};
  std::mutex mutex_;
  std::vector<NewChunks> arrived_;
};

}  // namespace riutils::detail
