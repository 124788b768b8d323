// SPDX-License-Identifier: MIT
// How workers wait in collectives, and what ends the collectives of a process for good.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

#include "dtutils/wait.hpp"
#include "failure/failures.hpp"
#include "failure/own_failure.hpp"
#include "job/job_limits.hpp"
#include "messages/message_engine.hpp"

namespace dsfabric {

/// Over for good, with every wait for them, are the collectives of a process when
///
///  - it believes that some peer has failed,
///  - one of its own workers or service handlers threw, or
///  - a collective itself threw, because the workers are in different ones.
///
/// The first is a belief, and rests on failed() alone: see Collectives for what holds where two
/// processes believe different things.
class CollectiveWait {
 public:
  CollectiveWait(ProcessId self, const Failures& failures, const OwnFailure& own_failure,
                 MessageEngine& messages) noexcept
      : self_(self), failures_(failures), own_failure_(own_failure), messages_(messages) {}
  CollectiveWait(const CollectiveWait&) = delete;
  CollectiveWait& operator=(const CollectiveWait&) = delete;

  /// Makes progress until `done`, which process `on` brings about. Throws PeerFailed when that
  /// process has left before, and as throw_if_over(). Workers only.
  template <class Done>
  void until(ThreadContext& context, ProcessId on, Done done) {
    until(context, on, done, [] {});
  }
  /// `look` runs now and then, and throws when `done` can never come true.
  template <class Done, class Look>
  void until(ThreadContext& context, ProcessId on, Done done, Look look) {
    dtutils::Backoff backoff;
    for (;;) {
      for (unsigned i = 0; i < kFlagLooks; ++i) {
        if (done()) return;
      }
      throw_if_over();
      look();
      if (failures_.state(on) == PeerState::kLeft && !done()) [[unlikely]] {
        throw_left(on);
      }
      messages_.progress(context) ? backoff.reset() : backoff.pause();
    }
  }

  /// Throws PeerFailed, or what ended the collectives. Any thread.
  void throw_if_over() const;
  /// A collective threw in the worker that acted for all: it throws the same in the others. Any
  /// thread.
  void break_for_all(std::exception_ptr cause) noexcept;

 private:
  [[noreturn]] static void throw_left(ProcessId process);

  const ProcessId self_;
  const Failures& failures_;
  const OwnFailure& own_failure_;
  MessageEngine& messages_;
  std::atomic<bool> broken_{false};
  mutable std::mutex mutex_;
  std::exception_ptr broken_by_;
};

}  // namespace dsfabric
