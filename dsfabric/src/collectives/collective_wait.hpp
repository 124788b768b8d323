// SPDX-License-Identifier: MIT
// How workers wait in collectives, and what ends the collectives of a process for good.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>

#include "collectives/participants.hpp"
#include "dtutils/wait.hpp"
#include "failure/failures.hpp"
#include "failure/own_failure.hpp"
#include "job/job_limits.hpp"
#include "messages/message_engine.hpp"

namespace dsfabric {

/// Why a process takes part in the collectives of a group no more: process `by` believes that
/// `failed` has failed, or has seen it leave without taking part.
struct Revocation {
  ProcessId failed;
  ProcessId by;
};

/// Over for good, with every wait for them, are the collectives of a group in a process when
///
///  - it believes that some process of the group has failed,
///  - another process of the group, which believes that, has revoked them here,
///  - one of its own workers or service handlers threw, or
///  - a collective of the group itself threw, because the workers are in different ones.
///
/// The first is a belief, and rests on failed() alone: see Collectives for what holds where two
/// processes believe different things.
class CollectiveWait {
 public:
  CollectiveWait(const Participants& participants, const Failures& failures,
                 const OwnFailure& own_failure, MessageEngine& messages) noexcept
      : participants_(participants),
        failures_(failures),
        own_failure_(own_failure),
        messages_(messages) {}
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
      throw_if_late(on);
      look();
      if (failures_.state(on) == PeerState::kLeft && !done()) [[unlikely]] {
        throw_left(on);
      }
      messages_.progress(context) ? backoff.reset() : backoff.pause();
    }
  }

  /// From now on until() throws Error, which names the process that it waits for, when `patience`
  /// has passed; nothing ends that. Any thread.
  void limit(std::optional<std::chrono::milliseconds> patience) noexcept;

  /// Throws PeerFailed, or what ended the collectives. Any thread.
  void throw_if_over() const;
  /// Whether they are over. Any thread.
  bool over() const noexcept {
    return broken_.load(std::memory_order_acquire) || own_failure_.declared() || failed() ||
           revoked();
  }
  /// They are over for the same reason as at the process that says so. The first reason counts.
  /// Any thread.
  void revoke(Revocation why) noexcept;
  std::optional<Revocation> revoked() const noexcept;
  /// A collective threw in the worker that acted for all: it throws the same in the others. Any
  /// thread.
  void break_for_all(std::exception_ptr cause) noexcept;

 private:
  [[noreturn]] static void throw_left(ProcessId process);
  /// Waits for a while until this process knows of the failure by itself, if that is one.
  [[noreturn]] void throw_revoked(const Revocation& why) const;
  void throw_if_late(ProcessId on) const;

  /// The process of the group that failed first.
  std::optional<ProcessId> failed() const noexcept;

  const Participants& participants_;
  const Failures& failures_;
  const OwnFailure& own_failure_;
  MessageEngine& messages_;
  /// So many failures are known to be of processes outside of the group.
  mutable std::atomic<std::uint32_t> foreign_{0};
  /// When limit() ends, as a count of the steady clock; 0: never.
  std::atomic<dtutils::Clock::rep> end_{0};
  /// When throw_revoked() waits no longer, as a count of the steady clock; then a Revocation in 32
  /// bits, and one above them; 0: none.
  std::atomic<dtutils::Clock::rep> known_by_{0};
  std::atomic<std::uint64_t> revoked_{0};
  std::atomic<bool> broken_{false};
  mutable std::mutex mutex_;
  std::exception_ptr broken_by_;
};

}  // namespace dsfabric
