// SPDX-License-Identifier: MIT
// A lock of the job as an object that std::unique_lock and std::shared_lock work on.
#pragma once

#include <chrono>
#include <concepts>
#include <type_traits>
#include <utility>

#include "dtutils/clock.hpp"
#include "locks/detail/worker.hpp"
#include "locks/ncosed.hpp"

namespace locks {

/// What SharedMutex needs of a scheme: see Ncosed.
template <class M>
concept Manager = requires(detail::Worker& worker, detail::Place& place, const LockAddress& lock) {
  { M::kScheme } -> std::convertible_to<Scheme>;
  { M::kAsksBeforeItWaits } -> std::convertible_to<bool>;
  M::lock(worker, place, lock);
  { M::try_lock(worker, place, lock) } -> std::same_as<bool>;
  { M::unlock(worker, place, lock) } noexcept;
};

namespace detail {
/// The Errors of SharedMutex, which are all mistakes in the program.
[[noreturn]] void refuse_lock(bool exclusive, bool held_exclusively);
[[noreturn]] void refuse_unlock(bool exclusive, bool held);
void require_lock(const LockSpace& space, Scheme scheme, const LockAddress& lock);

/// The point in time that is so long after now; the last one, when it lies behind that.
template <class Rep, class Period>
dtutils::Clock::time_point end_of(const std::chrono::duration<Rep, Period>& time) {
  using Time = dtutils::Clock::time_point;
  using Seconds = std::chrono::duration<double>;
  const Time now = dtutils::Clock::now();
  if (!(time > time.zero())) return now;
  if (Seconds(time) >= Seconds(Time::max() - now)) return Time::max();
  return now + std::chrono::ceil<Time::duration>(time);
}
}  // namespace detail

/// A worker's way to one lock of the job. Each worker, and each fiber that locks, makes its own
/// object for the same LockId; the object is cheap, and holds the lock at most once. Satisfies
/// SharedTimedLockable:
///
///     locks::SharedMutex account(space, {home, 17});
///     const std::unique_lock lock(account);            // or std::shared_lock
///     if (account.owner_died()) repair(...);           // the holder before did not finish
///
/// The scheme is a template parameter, so that a call of lock() comes to the atomics without a
/// virtual call and without a branch on the scheme. It must be that of the space.
///
/// Waiting: a fiber gives its thread back, a program serves meanwhile. An inline handler may not
/// wait: where it would have to, lock() throws Error; it uses try_lock().
///
/// Errors: locking an object that holds the lock, or locking what the program of this worker holds
/// by another object, is an Error (there is no upgrade), and so is unlocking what is not held. When
/// the home of the lock is gone, lock() throws PeerFailed, and unlock() does nothing. What a
/// handler throws while lock() serves leaves lock(), which does not hold the lock then.
///
/// Owner thread only. It is not destroyed while it holds the lock, and the space outlives it.
template <Manager M = Ncosed>
class SharedMutex {
 public:
  /// Throws Error when there is no such lock, or the space has another scheme.
  SharedMutex(LockSpace& space, LockId lock) : SharedMutex(space, space.address(lock)) {}
  /// A lock whose words lie elsewhere, see LockSpace::adopt. Throws Error also when that is no
  /// address of a lock of the job.
  SharedMutex(LockSpace& space, const LockAddress& lock) : worker_(space.worker()), lock_(lock) {
    detail::require_lock(space, M::kScheme, lock);
  }
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;
  ~SharedMutex() = default;

  /// Takes the lock alone.
  void lock() { acquire<detail::Mode::kExclusive>(); }
  /// Takes the lock together with other readers.
  void lock_shared() { acquire<detail::Mode::kShared>(); }
  /// Takes the lock if it is free; waits for nobody who holds it, and does not serve: a loop of
  /// try_lock() makes progress itself.
  bool try_lock() { return try_acquire<detail::Mode::kExclusive>(); }
  /// The same, shared.
  bool try_lock_shared() { return try_acquire<detail::Mode::kShared>(); }
  /// Tries again and again, with pauses, until the time is over, and serves at least once before it
  /// returns false. It does not stand in the queue: others that do may come first.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return try_until<detail::Mode::kExclusive>(detail::end_of(time));
  }
  /// As try_lock_for, with a point in time of any clock.
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& end) {
    return try_lock_for(left_until(end));
  }
  /// As try_lock_for.
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& time) {
    return try_until<detail::Mode::kShared>(detail::end_of(time));
  }
  /// As try_lock_for, with a point in time of any clock.
  template <class Clock, class Duration>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& end) {
    return try_lock_shared_for(left_until(end));
  }
  /// Gives it back; throws Error when this object does not hold it alone.
  void unlock() { release<detail::Mode::kExclusive>(); }
  /// As unlock(), after all that this worker has posted to the home of the lock: that is done there
  /// before anybody else has the lock, and when this returns. So nobody needs to wait for it
  /// before: the atomic that releases follows it on the same connection. When somebody waits for
  /// the lock, one atomic more. False: the home is gone, and so may be what was posted. Ncosed
  /// only.
  bool unlock_behind()
  requires requires(detail::Worker& worker, detail::Place& place, const LockAddress& lock) {
    M::unlock_behind(worker, place, lock);
  }
  {
    return M::unlock_behind(worker_, let_go<detail::Mode::kExclusive>(), lock_);
  }
  /// Gives it back; throws Error when this object does not hold it shared.
  void unlock_shared() { release<detail::Mode::kShared>(); }

  /// Whether this object holds the lock.
  bool held() const noexcept { return place_ != nullptr; }
  /// While it is held: the exclusive holder before died, so what the lock protects may be half
  /// changed. It stays true for readers until the next exclusive holder has come; from whoever
  /// comes after that one it is false.
  bool owner_died() const noexcept { return place_ != nullptr && place_->owner_died != 0; }
  /// The lock.
  const LockAddress& address() const noexcept { return lock_; }

 private:
  using Mode = detail::Mode;

  template <Mode kMode>
  void acquire() {
    if (place_ != nullptr) [[unlikely]]
      detail::refuse_lock(kMode == Mode::kExclusive, mode_ == Mode::kExclusive);
    worker_.refuse_second(lock_, kMode);
    // A request that stands in the queue cannot be taken back, so this is asked before.
    if constexpr (!M::kAsksBeforeItWaits || kMode == Mode::kShared) {
      if (!worker_.may_wait()) [[unlikely]] {
        if (!try_acquire<kMode>()) worker_.refuse_to_wait();
        return;
      }
    }
    detail::Place& place = worker_.take(lock_, kMode);
    M::lock(worker_, place, lock_);
    hold<kMode>(place);
  }
  template <Mode kMode>
  bool try_acquire() {
    if (place_ != nullptr) [[unlikely]]
      detail::refuse_lock(kMode == Mode::kExclusive, mode_ == Mode::kExclusive);
    detail::Place& place = worker_.take(lock_, kMode);
    const bool taken = M::try_lock(worker_, place, lock_);
    if (taken) hold<kMode>(place);
    return taken;
  }
  /// Time points of a simulation are those of the steady clock, too.
  template <class Clock>
  static auto now_of() {
    if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
      return dtutils::Clock::now();
    } else {
      return Clock::now();
    }
  }
  template <class Clock, class Duration>
  static auto left_until(const std::chrono::time_point<Clock, Duration>& end) {
    const auto now = now_of<Clock>();
    // A point long ago may be farther away than a duration tells.
    return end > now ? end - now : end - end + (now - now);
  }
  template <Mode kMode>
  bool try_until(dtutils::Clock::time_point end) {
    for (std::uint32_t round = 0;; ++round) {
      if (try_acquire<kMode>()) return true;
      if (dtutils::Clock::now() >= end) {
        // Shorter than the pauses that do: a loop of such calls must let the holder go on, too.
        if (worker_.may_wait()) worker_.serve();
        return false;
      }
      if (!worker_.may_wait()) worker_.refuse_to_wait();
      worker_.pause(round);
    }
  }
  template <Mode kMode>
  void hold(detail::Place& place) {
    if (worker_.has_thrown()) [[unlikely]] {
      if (const std::exception_ptr thrown = worker_.thrown(place)) {
        M::unlock(worker_, place, lock_);
        std::rethrow_exception(thrown);
      }
    }
    worker_.mark_by_program(place);
    mode_ = kMode;
    place_ = &place;
  }
  template <Mode kMode>
  void release() {
    M::unlock(worker_, let_go<kMode>(), lock_);
  }
  template <Mode kMode>
  detail::Place& let_go() {
    if (place_ == nullptr || mode_ != kMode) [[unlikely]]
      detail::refuse_unlock(kMode == Mode::kExclusive, place_ != nullptr);
    return *std::exchange(place_, nullptr);
  }

  detail::Worker& worker_;
  LockAddress lock_;
  detail::Place* place_ = nullptr;
  Mode mode_ = Mode::kExclusive;
};

/// For SharedMutex(space, lock) without template arguments.
SharedMutex(LockSpace&, LockId) -> SharedMutex<Ncosed>;
/// The same with an address.
SharedMutex(LockSpace&, const LockAddress&) -> SharedMutex<Ncosed>;

}  // namespace locks
