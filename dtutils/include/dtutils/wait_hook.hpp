// SPDX-License-Identifier: MIT
// What a thread does while it waits on a Synchronizer: upper layers install it.
#pragma once

#include "dtutils/clock.hpp"

namespace dtutils {

class Synchronizer;

/// When a waiter gives up; max() means never.
using WaitEnd = Clock::time_point;

/// One step of a thread's waiting: serve something (poll queue pairs, handle incoming calls), or
/// suspend the fiber that waits on `waited` until that is over, or `end` has come. True when it did
/// something, false when there was nothing to do, so that the waiter backs off. A plain function
/// and its context, because DTutils is below the layers that have something to serve. What it
/// throws leaves the wait.
struct WaitHook {
  /// The step; nullptr: there is no hook.
  bool (*step)(void* context, const Synchronizer& waited, WaitEnd end) = nullptr;
  /// The first argument of both functions.
  void* context = nullptr;
  /// Whether a wait that begins now is suspended, and the thread goes on without it, as that of a
  /// fiber. nullptr: never.
  bool (*puts_aside)(void* context) noexcept = nullptr;
};

/// Installs a hook for the calling thread and returns the one before; an empty one removes it. A
/// fiber scheduler calls it at each switch between fibers and the thread's own stack. Any thread,
/// wait-free.
WaitHook set_wait_hook(WaitHook hook) noexcept;

/// Runs one step of the calling thread's hook; false when there is none, or nothing to do.
bool run_wait_hook(const Synchronizer& waited, WaitEnd end = WaitEnd::max());

/// Whether the hook of the calling thread would suspend a wait that begins now.
bool wait_is_put_aside() noexcept;

/// Installs a hook for the calling thread as long as it lives. Owner thread only.
class ScopedWaitHook {
 public:
  /// Installs the hook; the destructor installs the one before again.
  explicit ScopedWaitHook(WaitHook hook) noexcept : before_(set_wait_hook(hook)) {}
  ScopedWaitHook(const ScopedWaitHook&) = delete;
  ScopedWaitHook& operator=(const ScopedWaitHook&) = delete;
  ~ScopedWaitHook() { set_wait_hook(before_); }

 private:
  WaitHook before_;
};

}  // namespace dtutils
