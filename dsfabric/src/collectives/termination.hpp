// SPDX-License-Identifier: MIT
// Termination: waves that count calls, for wait_for_termination() and for the end of run().
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "collectives/collectives.hpp"
#include "dsfabric/termination.hpp"
#include "dsfabric/thread.hpp"
#include "failure/failures.hpp"
#include "failure/own_failure.hpp"
#include "threads/thread_registry.hpp"

namespace dsfabric {

/// Thread contracts at the methods.
class Termination {
 public:
  /// `collectives`: those of the whole job.
  Termination(std::chrono::milliseconds leave_timeout, const ThreadRegistry& threads,
              const Failures& failures, const OwnFailure& own_failure,
              Collectives& collectives) noexcept
      : leave_timeout_(leave_timeout),
        threads_(threads),
        failures_(failures),
        own_failure_(own_failure),
        collectives_(collectives) {}
  Termination(const Termination&) = delete;
  Termination& operator=(const Termination&) = delete;

  /// Any thread (takes a lock).
  void add(CallLedger& ledger);

  /// wait_for_termination(), for a worker. Throws as that.
  void wait(Thread& self, ThreadContext& context) {
    collectives_.participants().require_whole_job("wait_for_termination()");
    wait(self, context, collectives_);
  }
  /// The same among those who take part in these collectives, all workers of their processes.
  void wait(Thread& self, ThreadContext& context, Collectives& collectives);
  /// The same at the end of run(), but without PeerFailed, and no longer than Config::leave_timeout
  /// after all workers have come: lost() is the number of calls that were not executed by then.
  void drain(Thread& self, ThreadContext& context);
  /// The end of run() in an elastic job, which waits for no other process: calls of this worker
  /// that wait in channels go out.
  void end_alone(Thread& self);
  /// Of the last drain() of this process.
  std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  /// What travels in a wave.
  struct Wave {
    CallCount calls;
    std::uint64_t late = 0;
    friend bool operator==(const Wave&, const Wave&) = default;
  };
  /// Calls that were not executed after `patience`.
  std::uint64_t run_waves(Thread& self, ThreadContext& context, Collectives& collectives,
                          Collective kind, std::optional<std::chrono::milliseconds> patience);
  std::vector<CallLedger*> ledgers() const;

  const std::chrono::milliseconds leave_timeout_;
  const ThreadRegistry& threads_;
  const Failures& failures_;
  const OwnFailure& own_failure_;
  Collectives& collectives_;
  mutable std::mutex mutex_;
  std::vector<CallLedger*> ledgers_;
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace dsfabric
