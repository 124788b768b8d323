// SPDX-License-Identifier: MIT
// The end of a computation by calls: when all have been executed, and those that they made.
#pragma once

#include <cstdint>
#include <span>

#include "dsfabric/ids.hpp"

namespace dsfabric {

class Group;
class Thread;

/// Calls that were issued, and calls whose function has run to its end.
struct CallCount {
  /// Calls that were made, sent or not.
  std::uint64_t issued = 0;
  /// Calls whose function has run to its end.
  std::uint64_t executed = 0;

  friend bool operator==(const CallCount&, const CallCount&) = default;
  friend CallCount operator+(const CallCount& a, const CallCount& b) noexcept {
    return {a.issued + b.issued, a.executed + b.executed};
  }
};

/// What a layer above knows of its own calls (Fabric::add_call_ledger). Its methods are called on
/// workers, outside of handlers.
class CallLedger {
 public:
  CallLedger() = default;
  CallLedger(const CallLedger&) = delete;
  CallLedger& operator=(const CallLedger&) = delete;
  virtual ~CallLedger() = default;

  /// Sends what this worker has gathered or held back, as far as it can.
  virtual void flush(Thread& worker) noexcept = 0;
  /// What this worker has issued to these processes, and the first worker of a process also what
  /// was executed in that process for them. A call is counted as issued before it is sent, and as
  /// executed after what it made was counted as issued.
  virtual CallCount count(Thread& worker, std::span<const ProcessId> processes) = 0;
  /// The work of this worker has ended: calls that wait for it to prepare something run without.
  virtual void work_ended(Thread& worker) noexcept = 0;
};

/// Returns when every call of the job has been executed: those that workers made before they came
/// here, those that these calls made, and so on. What all of them did is visible to every worker
/// afterwards. It counts calls by messages (SendChannel), all steps of broadcasts, the calls of
/// layers above, and continuations of futures (RemoteFuture::then); and it sends calls that layers
/// above have gathered or held. It does not wait for one-sided operations (a barrier() afterwards
/// does), and not for calls that other threads than workers make later.
///
/// A collective of all workers, in the order of their other collectives. It serves while it waits.
/// Throws PeerFailed when a process has failed or left: its calls are lost; and what handlers throw
/// when there is no upcall for it. Not inside a handler.
void wait_for_termination(Thread& self);

/// The same among the members of a group, which are all workers of some processes (else it throws
/// Error): returns when every call has been executed that these processes made to each other. Calls
/// from elsewhere and to elsewhere do not count; none that comes from elsewhere makes calls among
/// the members meanwhile.
void wait_for_termination(Group& group);

}  // namespace dsfabric
