// SPDX-License-Identifier: MIT
// Protection by mprotect(2), for where userfaultfd(2) is not permitted.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <memory>

#include "page_guard.hpp"

namespace streams {

/// A handler of SIGSEGV, in which the thread that writes copies the bytes aside itself. Signals
/// that are no such write go to the handler that was there before. Made once, and never taken away;
/// a program that has put its own handler there gets this one back, before its own, with the next
/// stream.
class FaultSignal final : public PageGuard {
 public:
  static PageGuard* shared() noexcept;

 private:
  FaultSignal();

  bool prepare(const GuardedOffer& offer) noexcept override;
  bool cover(const GuardedOffer& offer) noexcept override;
  void lift(std::uint64_t begin, std::uint64_t length) noexcept override;

  static void on_signal(int number, siginfo_t* info, void* context);
  bool answer(std::uint64_t address) noexcept;
  void pass_on(int number, siginfo_t* info, void* context) noexcept;

  static bool installed() noexcept;
  bool install() noexcept;

  struct sigaction before_ {};
  /// The thread that is in a handler of the program.
  std::atomic<pid_t> passing_on_{0};
};

}  // namespace streams
