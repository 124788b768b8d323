// SPDX-License-Identifier: MIT
// Protection by userfaultfd(2).
#pragma once

#include "page_guard.hpp"

struct uffd_msg;

namespace streams {

/// The userfaultfd of this process, and the thread that answers it. It also stops system calls that
/// write, and hears of memory that goes away.
class UserFaults final : public PageGuard {
 public:
  static PageGuard* shared() noexcept;
  /// Whether there can be one.
  static bool permitted() noexcept;

 private:
  explicit UserFaults(int faults);

  bool prepare(const GuardedOffer& offer) noexcept override;
  bool cover(const GuardedOffer& offer) noexcept override;
  void lift(std::uint64_t begin, std::uint64_t length) noexcept override;

  /// A thread whose page was given back meanwhile.
  void wake(std::uint64_t address) noexcept;
  void answer() noexcept;
  void answer(const uffd_msg& message) noexcept;

  /// The userfaultfd.
  const int faults_;
};

}  // namespace streams
