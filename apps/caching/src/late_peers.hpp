// SPDX-License-Identifier: MIT
// Processes that have not answered this one in time: nobody waits for them a second time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dsfabric/return_slot.hpp"
#include "requests.hpp"

namespace caching::detail {

/// A process is late from when a call to it was not answered within CacheOptions::patience until it
/// has answered all that it was asked. What it was not asked meanwhile makes its documents
/// doubtful: it is then asked to forget all of them, and until it has, nobody who knows of that
/// reads from it.
///
///     in time --timed_out()--> late: misses all
///        ^                       | asked to forget; when it answers: asked again
///        |                     late: is asked, and may answer
///        +--(has forgotten)------+
///
/// Any thread (takes a lock), except for is_late().
class LatePeers {
 public:
  using Slot = dsfabric::ReturnSlot<bool>;
  explicit LatePeers(std::uint16_t processes) : late_(processes), all_(processes) {}

  /// Any thread, wait-free.
  bool is_late(std::uint16_t process) const noexcept {
    return late_[process].load(std::memory_order_acquire) != 0;
  }
  /// Whether something is left for look().
  bool any() const;
  /// It has not answered, which it may still do: then the slot, if there is one, becomes done.
  void timed_out(std::uint16_t process, std::unique_ptr<Slot> slot);
  /// For who is going to ask it to invalidate something: when it is late, this is true, and it will
  /// be asked to forget everything instead.
  bool misses(std::uint16_t process);
  /// Puts those that are late into the request, and the number of this list; false when they are
  /// too many.
  bool list(InvalidateRequest& request) const;
  /// Of the list: it grows with each change.
  std::uint64_t version() const;

  /// What is to be done for a process that is late.
  enum class Next : std::uint8_t { kNothing, kAskToForget, kOver };
  /// kOver: it is not late any more.
  Next look(std::uint16_t process);
  /// After kAskToForget: how it was asked; nullptr: it was not.
  void asked(std::uint16_t process, std::unique_ptr<Slot> slot);
  /// It is gone.
  void forget(std::uint16_t process);

 private:
  struct One {
    bool missed = false;
    /// It has answered something since it became late.
    bool answers = false;
    /// It is asked to invalidate, though it is late.
    bool asked = false;
    std::vector<std::unique_ptr<Slot>> pending;
  };
  void set(std::uint16_t process, bool late);

  /// Changed under the lock.
  std::vector<std::atomic<std::uint8_t>> late_;
  mutable std::mutex mutex_;
  std::vector<One> all_;
  std::uint64_t version_ = 1;
};

/// What the processes of a cache say of each other: those whose documents are not to be read.
class Doubts {
 public:
  explicit Doubts(std::uint16_t processes) : count_(processes), said_(processes) {}
  /// Nobody says that. Any thread, wait-free.
  bool trusted(std::uint16_t process) const noexcept {
    return count_[process].load(std::memory_order_acquire) == 0;
  }
  /// A process says which ones; the newest list of it holds. Any thread (takes a lock).
  void take(std::uint16_t source, std::uint64_t version, std::span<const std::uint16_t> late);

 private:
  struct Said {
    std::uint64_t version = 0;
    std::vector<std::uint16_t> late;
  };
  std::vector<std::atomic<std::uint16_t>> count_;
  std::mutex mutex_;
  std::vector<Said> said_;
};

}  // namespace caching::detail
