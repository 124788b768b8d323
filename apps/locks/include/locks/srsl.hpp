// SPDX-License-Identifier: MIT
// SRSL: a server at the home of the lock, asked by messages.
#pragma once

#include "locks/detail/worker.hpp"

namespace locks {

/// Send/Receive-based Server Locking (the base of paper 003, section 4.2): the service threads of
/// the home keep the queue of each lock. A request is a service call, the answer is a call to the
/// worker that waits, and a release is a service call. Exclusive and shared requests are served in
/// the order in which the home takes them in.
///
/// try_lock waits for the answer of the home. Static functions as those of Ncosed. Owner thread
/// only.
struct Srsl {
  static constexpr Scheme kScheme = Scheme::kSrsl;
  /// A request is made by one atomic or message, and cannot be taken back.
  static constexpr bool kAsksBeforeItWaits = false;
  static void lock(detail::Worker& worker, detail::Place& place, const LockAddress& lock);
  static bool try_lock(detail::Worker& worker, detail::Place& place, const LockAddress& lock);
  static void unlock(detail::Worker& worker, detail::Place& place,
                     const LockAddress& lock) noexcept;
};

}  // namespace locks
