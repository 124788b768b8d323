// SPDX-License-Identifier: MIT
// Write protection of memory that was sent asynchronously, until the peer has read it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

struct uffd_msg;

namespace streams {

/// Protection is a matter of whole pages.
inline constexpr std::size_t kGuardedPage = 4096;

/// An offer in memory that the program may write again. Owned by the stream; the PageGuard uses it
/// from `protect` until `release`.
struct GuardedOffer {
  /// Whole pages.
  std::byte* begin = nullptr;
  std::size_t length = 0;
  /// As much memory, where what was not read goes when the program writes.
  std::byte* spare = nullptr;
  /// See offer.hpp.
  std::uint64_t* word = nullptr;
  std::uint32_t number = 0;
  /// Of the PageGuard.
  GuardedOffer* next = nullptr;
};

/// The userfaultfd(2) of this process, and the thread that answers it. A thread that writes into
/// protected pages, also by a system call, stops for as long as it takes to copy the bytes aside
/// that the peer has not read; what the peer does or does not do has no influence on that.
///
/// That thread neither allocates nor waits for anything but a mutex, whose owners never touch
/// memory of the program: a program may be stopped wherever it writes, as in malloc(3).
class PageGuard {
 public:
  /// The one of this process, made when it is needed; nullptr: the kernel does not permit it.
  static std::shared_ptr<PageGuard> shared() noexcept;
  PageGuard(const PageGuard&) = delete;
  PageGuard& operator=(const PageGuard&) = delete;
  ~PageGuard();

  /// False: these pages cannot be protected, or some of them are by another offer.
  bool protect(GuardedOffer& offer) noexcept;
  /// Gives the pages back to the program, if that has not happened yet.
  void release(GuardedOffer& offer) noexcept;

 private:
  PageGuard(int faults, int stop);

  void answer() noexcept;
  void answer(const uffd_msg& message) noexcept;
  void on_write(std::uint64_t address) noexcept;
  void on_unmap(std::uint64_t begin, std::uint64_t end) noexcept;
  bool enlisted(const GuardedOffer& offer) const noexcept;
  /// Lifts the protection.
  void drop(GuardedOffer& offer) noexcept;
  void lift(std::uint64_t begin, std::uint64_t length) noexcept;

  const pid_t process_;
  /// The userfaultfd, and an event that ends the thread.
  const int faults_;
  const int stop_;
  std::mutex mutex_;
  GuardedOffer* offers_ = nullptr;
  std::thread thread_;
};

}  // namespace streams
