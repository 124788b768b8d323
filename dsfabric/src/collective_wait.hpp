// SPDX-License-Identifier: MIT
// How workers wait in collectives, and what ends the collectives of a process for good.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>

#include "core.hpp"
#include "dtutils/wait.hpp"
#include "limits.hpp"

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
  explicit CollectiveWait(Core& core) noexcept : core_(core) {}
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
      if (core_.peer(on).state.load(std::memory_order_acquire) == PeerState::kLeft && !done())
          [[unlikely]] {
        throw_left(on);
      }
      core_.progress(context) ? backoff.reset() : backoff.pause();
    }
  }

  /// Throws PeerFailed, or what ended the collectives. Any thread.
  void throw_if_over() const;
  /// A collective threw in the worker that acted for all: it throws the same in the others. Any
  /// thread.
  void break_for_all(std::exception_ptr cause) noexcept;

  /// As Collectives::abort and so on.
  void abort(std::string_view reason) noexcept;
  bool aborted() const noexcept { return aborted_.load(std::memory_order_acquire); }
  std::string abort_reason() const;

 private:
  [[noreturn]] static void throw_left(ProcessId process);

  Core& core_;
  std::atomic<bool> aborted_{false};
  std::atomic<bool> broken_{false};
  mutable std::mutex mutex_;
  std::exception_ptr broken_by_;
  std::string abort_reason_;
};

}  // namespace dsfabric
