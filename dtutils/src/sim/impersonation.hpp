// SPDX-License-Identifier: MIT
// A switch between threads without the operating system: one of its threads runs all of them.
#pragma once

#include <cstdint>

#include "sim/baton.hpp"

// Sanitizers keep accounts of stacks, and get the switches of the operating system.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define CARIAMA_SIM_IMPERSONATES 1
#endif
#else
#define CARIAMA_SIM_IMPERSONATES 1
#endif
#endif

namespace dtutils::sim {

/// Whether this build can do it.
#ifdef CARIAMA_SIM_IMPERSONATES
inline constexpr bool kImpersonates = true;
#else
inline constexpr bool kImpersonates = false;
#endif

/// Where a thread stands while it does not run: its stack, with its registers, and the base of its
/// thread-local variables. Who loads both is that thread, for all that the program can see. So each
/// thread is started as usual, parks, and is then run by the one kernel thread that runs the
/// simulation, the runner. Its own kernel thread sleeps meanwhile, and gets it back for its end,
/// which is the kernel's, too.
///
/// The runner goes from one to the next by `leave_for`: some 20 instructions, where a switch of the
/// kernel takes two system calls and the choice of a thread.
class Impersonated {
 public:
  /// In the thread: from now on it can be left, as the one that runs it.
  void be_runner() noexcept;
  /// In the thread: parks until the runner goes there, and returns in the runner.
  void park() noexcept;
  /// In the runner, as this thread: goes to `other`, and returns when somebody comes back.
  void leave_for(Impersonated& other) noexcept;
  /// In the runner, as this thread: goes to `other`, and returns in the thread's own kernel thread.
  void leave_for_good(Impersonated& other) noexcept;

 private:
  void go_to(Impersonated& other) noexcept;
  /// Where this thread continues. Those that came back for good are let go by who comes after them.
  void arrive() noexcept;

  void* stack_ = nullptr;
  std::uintptr_t locals_ = 0;
  /// To the runner, whose the stack is from then on.
  Baton parked_;
  bool seen_ = false;
  /// To its kernel thread, which may have it back.
  Baton home_;
  /// Who has left it for good, on the way here.
  Impersonated* left_ = nullptr;
};

}  // namespace dtutils::sim
