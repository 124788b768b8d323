// SPDX-License-Identifier: MIT
// The semaphore that transfers and invocations decrease when they are done (Seriema 3.1).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

namespace dtutils {

/// Counts operations that are still to come. Each one decrements it once: by the transfer (it was
/// sent), by a local call (it was executed), or by a peer (it was executed there). It carries
/// failure: an operation that will never happen, because its peer is gone, also decrements it, and
/// leaves a mark. So a wait always ends when every operation has ended one way or another.
///
/// One 8-byte word, to be placed anywhere; in registered memory a peer decrements it by itself:
///
///     bits 63..32 failures | bits 31..0 pending       (host byte order)
///
///  - fetch-and-add of kRemoteDecrement or kRemoteFailure (needs DeviceInfo::atomics_with_cpu, if
///    this process decrements it too), or
///  - a write of 8 zero bytes (kDoneWord), if it is the only operation pending.
///
/// The last decrement is the last access to its memory: it may be destroyed as soon as done() is
/// true, or a wait has answered kDone or kFailed. Never while operations are pending.
///
/// Any thread, wait-free, except for the waits.
class Synchronizer {
 public:
  /// How a wait has ended.
  enum class Outcome : std::uint8_t {
    /// All operations are done.
    kDone,
    /// Over, but at least one operation failed: its peer, or the connection to it, is gone.
    kFailed,
    /// Operations are pending still; the Synchronizer must live on.
    kTimeout,
  };

  /// What a peer adds for an operation that is done.
  static constexpr std::uint64_t kRemoteDecrement = std::numeric_limits<std::uint64_t>::max();
  /// What a peer adds for an operation that failed.
  static constexpr std::uint64_t kRemoteFailure = 0xffff'ffff;
  /// What a peer writes when the only operation is done.
  static constexpr std::uint64_t kDoneWord = 0;

  /// Waits for `operations` decrements.
  explicit Synchronizer(std::uint32_t operations) noexcept : word_(operations) {}
  Synchronizer(const Synchronizer&) = delete;
  Synchronizer& operator=(const Synchronizer&) = delete;

  /// `more` operations follow; called before the first of them can end.
  void expect(std::uint32_t more) noexcept {
    // Relaxed: the thread that starts the operations orders them after this.
    word_.fetch_add(more, std::memory_order_relaxed);
  }
  /// An operation is done. Release: pairs with the acquire of the waiter, who then sees its effects
  /// and may destroy the Synchronizer.
  void decrement() noexcept { word_.fetch_sub(1, std::memory_order_release); }
  /// An operation will never be done. Release: as decrement.
  void fail() noexcept { word_.fetch_add(kRemoteFailure, std::memory_order_release); }

  /// Nothing is pending any more.
  bool done() const noexcept { return pending(load()) == 0; }
  /// Operations that have not ended.
  std::uint32_t pending() const noexcept { return pending(load()); }
  /// Operations that failed so far.
  std::uint32_t failures() const noexcept { return failures(load()); }

  /// kDone or kFailed when nothing is pending, else empty: one look, so that the memory may be gone
  /// after it.
  std::optional<Outcome> outcome() const noexcept {
    const std::uint64_t word = load();
    if (pending(word) != 0) {
      return std::nullopt;
    }
    return failures(word) == 0 ? Outcome::kDone : Outcome::kFailed;
  }

  /// Waits until nothing is pending. Inside a fiber it suspends the fiber; elsewhere it makes the
  /// progress that the thread's hook offers (wait_hook.hpp). Without a hook it only looks: then
  /// another thread or a peer must do the work, or call Transmitter::wait. Any thread.
  Outcome wait();
  /// The same, at most for `timeout`.
  Outcome wait_for(std::chrono::nanoseconds timeout);

 private:
  static std::uint32_t pending(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word);
  }
  static std::uint32_t failures(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }
  /// Acquire: pairs with the release of each decrement.
  std::uint64_t load() const noexcept { return word_.load(std::memory_order_acquire); }

  std::atomic<std::uint64_t> word_;
};

static_assert(sizeof(Synchronizer) == 8 && alignof(Synchronizer) == 8);
static_assert(std::is_standard_layout_v<Synchronizer> &&
              std::is_trivially_destructible_v<Synchronizer>);

}  // namespace dtutils
