// SPDX-License-Identifier: MIT
// Write protection of memory that was sent asynchronously, until the peer has read it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "streams/options.hpp"

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
  /// Of the PageGuard. Not 0: the program has written, so nothing is protected, while the peer was
  /// reading here, which it may do until the word is another one.
  std::uint64_t left_to_reader = 0;
  GuardedOffer* next = nullptr;
};

/// The offers of this process whose pages are protected in one way. A thread that writes into such
/// pages stops for as long as it takes to copy the bytes aside that the peer has not read; what the
/// peer does or does not do has no influence on that.
///
/// Who answers a write neither allocates nor waits for anything but a mutex, whose owners never
/// touch memory of the program, nor let a handler of a signal do it: a program may be stopped
/// wherever it writes, as in malloc(3).
class PageGuard {
 public:
  /// The one of this process, made when it is needed, which then stays: who unmaps memory may ask
  /// for it without a lock. nullptr: the kernel does not permit it.
  static PageGuard* shared(PageProtection way) noexcept;
  PageGuard(const PageGuard&) = delete;
  PageGuard& operator=(const PageGuard&) = delete;
  virtual ~PageGuard() = default;

  /// False: these pages cannot be protected, or some of them are by another offer.
  bool protect(GuardedOffer& offer) noexcept;
  /// Gives the pages back to the program, if that has not happened yet.
  void release(GuardedOffer& offer) noexcept;
  /// Gives all pages in this memory back; who reads them reads copies. Waits, for
  /// kPatienceWithReader at most, for peers that are reading from it at this moment.
  void detach(std::uint64_t begin, std::uint64_t end) noexcept;

 protected:
  PageGuard() noexcept;

  /// The mutex, without signals.
  class Hold {
   public:
    explicit Hold(PageGuard& guard) noexcept;
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();

   private:
    PageGuard& guard_;
    sigset_t before_;
  };

  /// Sees to it that the pages are there and may be written; before `cover`, without the mutex.
  virtual bool prepare(const GuardedOffer& offer) noexcept = 0;
  // While the mutex is held.
  virtual bool cover(const GuardedOffer& offer) noexcept = 0;
  virtual void lift(std::uint64_t begin, std::uint64_t length) noexcept = 0;
  /// False: nothing is protected there, or no longer.
  bool on_write(std::uint64_t address) noexcept;
  void on_unmap(std::uint64_t begin, std::uint64_t end) noexcept;
  /// In a child, which has the memory of its parent, and none of its streams.
  void forget_all() noexcept;

  bool in_this_process() const noexcept;

 private:
  /// The first offer behind `offer` that has pages there.
  static GuardedOffer* next_in(GuardedOffer* offer, std::uint64_t begin,
                               std::uint64_t end) noexcept;
  bool enlisted(const GuardedOffer& offer) const noexcept;
  /// Lifts the protection.
  void drop(GuardedOffer& offer) noexcept;

  std::atomic<pid_t> process_;
  std::mutex mutex_;
  GuardedOffer* offers_ = nullptr;
};

}  // namespace streams
