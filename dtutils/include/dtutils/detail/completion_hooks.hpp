// SPDX-License-Identifier: MIT
// Finds the Synchronizer of a completed work request from a small number in its id.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "dtutils/synchronizer.hpp"

namespace dtutils::detail {

/// A table of Synchronizers that wait for one work request each. A slot is claimed before the post
/// and delivered once, whatever comes: success, failure, or the end of the table. Slots are more
/// than twice as many as requests can be outstanding, so that a claim finds one at once.
///
///     free --claim--> waiting --deliver--> free            (kRelease)
///                     waiting --deliver--> held --release--> free   (kHold)
///
/// Any thread. All but claim are wait-free; claim is lock-free: it may pass by a slot that others
/// take and free meanwhile.
class CompletionHooks {
 public:
  /// No slot.
  static constexpr std::uint32_t kNone = 0;
  /// Slots are 1 to this.
  static constexpr std::uint32_t kMaxSlots = 1u << 15;

  /// What becomes of a slot when it was delivered.
  enum class After : std::uint8_t {
    /// It is free at once.
    kRelease,
    /// The slot stays with its claimer, which still reads something under its number.
    kHold,
  };

  /// For at most `outstanding` requests, which is at most kMaxSlots / 2. Setup only.
  explicit CompletionHooks(std::uint32_t outstanding);
  CompletionHooks(const CompletionHooks&) = delete;
  CompletionHooks& operator=(const CompletionHooks&) = delete;
  /// Fails what still waits.
  ~CompletionHooks() { fail_all(); }

  /// Number of slots. Any thread, wait-free.
  std::uint32_t slots() const noexcept { return mask_ + 1; }

  /// A slot for `synchronizer`, looking from slot `near` on; kNone when all are taken.
  std::uint32_t claim(Synchronizer& synchronizer, std::uint64_t near, After after) noexcept;
  /// Decrements or fails the Synchronizer of the slot, if that has not been done.
  void deliver(std::uint32_t slot, bool success) noexcept;
  /// Gives back a slot that was delivered with kHold.
  void release(std::uint32_t slot) noexcept;
  /// Fails every Synchronizer that still waits.
  void fail_all() noexcept;

 private:
  // A word is 0 (free), kHeld, or a pointer with kHoldBit.
  static constexpr std::uintptr_t kFree = 0;
  static constexpr std::uintptr_t kHoldBit = 1;
  static constexpr std::uintptr_t kHeld = 2;

  const std::uint32_t mask_;
  const std::unique_ptr<std::atomic<std::uintptr_t>[]> words_;
};

}  // namespace dtutils::detail
