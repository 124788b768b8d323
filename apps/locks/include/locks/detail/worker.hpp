// SPDX-License-Identifier: MIT
// What one worker uses to lock: its places, its steps, and how it waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

#include "dsfabric/thread.hpp"
#include "dtutils/device_memory.hpp"
#include "locks/detail/place.hpp"
#include "locks/lock_space.hpp"

namespace locks::detail {

/// Says that a worker is in the middle of a step; read by the threads that freeze.
struct alignas(64) Stepping {
  std::atomic<std::uint32_t> flag{0};
};

/// The places of a worker, and what all schemes do with them. Owner thread only.
class Worker {
 public:
  Worker(dsfabric::Thread& self, SpaceCore& core);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  dsfabric::Thread& self() const noexcept { return self_; }
  SpaceCore& core() const noexcept { return core_; }
  Scheme scheme() const noexcept { return scheme_; }
  dtutils::Transmitter& transmitter(dsfabric::ProcessId to) noexcept {
    return self_.transmitter(to);
  }
  /// Whether a wait may begin here: not in a handler outside a fiber.
  bool may_wait() const noexcept;
  /// Throws the Error of a wait that may not begin.
  [[noreturn]] void refuse_to_wait() const;
  void at(Point point) const noexcept {
    if (at_point_ != nullptr) [[unlikely]]
      at_point_(point);
  }

  // --- places -----------------------------------------------------------------------------------
  /// A place for a request, in phase kEntering. Throws Error when there is none.
  Place& take(const LockAddress& lock, Mode mode) {
    if (free_ == kNoSlot) [[unlikely]]
      find_free();
    const std::uint32_t slot = free_;
    free_ = next_free_[slot];
    ++used_;
    ++counters_.requested;
    Place& place = places_[slot];
    place.lock = lock.memory.address;
    place.home = lock.memory.process;
    place.mode = mode;
    place.detached = 0;
    place.owner_died = 0;
    place.granted = kPending;
    place.phase = Phase::kEntering;
    return place;
  }
  /// Makes the place free, once nobody will write to it. Its mailbox is empty then.
  void give_back(Place& place) noexcept {
    const std::uint32_t slot = slot_of_place(place);
    place.phase = Phase::kFree;
    next_free_[slot] = free_;
    free_ = slot;
    --used_;
  }
  /// The home of its lock is gone: others may write to it until all know that.
  void retire(Place& place) noexcept;
  /// Throws Error when the program of this worker has the lock already, by another object.
  void refuse_second(const LockAddress& lock, Mode mode) {
    if (used_ != 0) [[unlikely]]
      look_for_second(lock, mode);
  }
  /// The program, and not a fiber, holds it from now on.
  void mark_by_program(Place& place) const noexcept;

  PlaceNumber number_of(const Place& place) const noexcept {
    return place_number(rank_, slot_of_place(place));
  }
  /// A word of a place, which a write of 8 or 4 bytes sets.
  dtutils::RemoteMemoryLocator part_of(PlaceNumber number, std::size_t offset,
                                       std::size_t size) const noexcept;
  /// Writes a word of 4 or 8 bytes into the place of another request. When it does not arrive, the
  /// process of that place has failed, or will be called so, and the home repairs the queue.
  template <class Word>
  void write_to(PlaceNumber number, std::size_t offset, Word value) noexcept {
    (void)transmitter(process_of(number))
        .write({&value, sizeof value, 0}, part_of(number, offset, sizeof value), dtutils::kInlined);
  }
  dsfabric::ProcessId process_of(PlaceNumber number) const noexcept;

  // --- atomics on the words of a lock -----------------------------------------------------------
  /// Throws PeerFailed when the home is gone; then the place is retired.
  std::uint64_t compare_and_swap(Place& place, const dtutils::RemoteMemoryLocator& word,
                                 std::uint64_t expected, std::uint64_t desired) {
    const auto old = transmitter({word.process}).blocking_compare_and_swap(word, expected, desired);
    if (!old) [[unlikely]]
      lose_home(place);
    return *old;
  }
  std::uint64_t fetch_and_add(Place& place, const dtutils::RemoteMemoryLocator& word,
                              std::uint64_t addend) {
    const auto old = transmitter({word.process}).blocking_fetch_and_add(word, addend);
    if (!old) [[unlikely]]
      lose_home(place);
    return *old;
  }
  /// Adds without waiting for the value before, which lands in a word that nobody reads, also when
  /// the place has been given back. What this worker does later with words of that home comes later
  /// there, and a freeze waits for it. When the home is gone, nothing happens.
  void post_add(Place& place, const dtutils::RemoteMemoryLocator& word,
                std::uint64_t addend) noexcept {
    (void)transmitter({word.process})
        .fetch_and_add({&place.seen, sizeof place.seen, places_key_}, word, addend);
  }
  /// Throws the PeerFailed of the home, which may have learned of the place: then it is retired.
  [[noreturn]] void lose_home(Place& place);
  /// Gives the place back and throws PeerFailed: the workers of the home have left the space.
  [[noreturn]] void throw_left(Place& place);

  // --- waits ------------------------------------------------------------------------------------
  /// Waits until the place is granted: serves meanwhile, or suspends the fiber. What handlers throw
  /// meanwhile is kept for rethrow(). Throws PeerFailed when the home is gone.
  Verdict wait(Place& place) {
    for (std::uint32_t i = 0; i < kLooks; ++i) {
      const std::uint64_t word = dtutils::load_device_word(&place.granted);
      if (low(word) == 0) return static_cast<Verdict>(high(word));
    }
    return wait_long(place);
  }
  /// One pause of a loop that reads the words of a lock: serves meanwhile, or suspends the fiber,
  /// for a time that grows with `round`, and gives the core to others behind a long one. Keeps what
  /// handlers throw. Throws PeerFailed when the home is gone, which the words of this process
  /// itself do not show.
  void pause(Place& place, std::uint32_t round);
  /// The same for a loop without a place, which may throw.
  void pause(std::uint32_t round);
  /// One step of what this thread does while it waits: a fiber gives it back once, a program
  /// serves.
  void serve();
  /// A request has to wait: for LockCounters::waited, once a request.
  void count_wait() noexcept { ++counters_.waited; }
  /// Gives the lock of such a wait back and throws what a handler threw; mostly there is nothing.
  bool has_thrown() const noexcept { return thrown_count_ != 0; }
  std::exception_ptr thrown(const Place& place) noexcept;
  /// Keeps the exception that is handled now for a wait that goes on.
  void keep_exception(Place& place) noexcept;
  /// Tells the home that the lock of a place stands still.
  void suspect(const Place& place) noexcept;
  const LockCounters& counters() const noexcept { return counters_; }
  std::chrono::nanoseconds lease() const noexcept { return lease_; }
  /// The clock of leases.
  std::chrono::nanoseconds lease_now() const noexcept;

 private:
  friend class Step;
  static constexpr std::uint32_t kNoSlot = kMaxPlaces;
  static constexpr std::uint64_t kPending = 1;
  /// Looks at a mailbox before the thread serves others.
  static constexpr std::uint32_t kLooks = 512;

  std::uint32_t slot_of_place(const Place& place) const noexcept {
    return static_cast<std::uint32_t>(&place - places_);
  }
  void find_free();
  void look_for_second(const LockAddress& lock, Mode mode);
  Verdict wait_long(Place& place);
  /// Throws as lose_home when the home does not take part any more.
  void require_home(Place& place);
  void wait_unfrozen() noexcept;

  dsfabric::Thread& self_;
  SpaceCore& core_;
  Place* const places_;
  const std::uint32_t places_key_;
  const std::atomic<std::uint32_t>& frozen_;
  std::atomic<std::uint32_t>& stepping_;
  /// Who freezes makes this thread's stores visible before it looks.
  const bool expedited_;
  const std::uint32_t rank_;
  const Scheme scheme_;
  void (*const at_point_)(Point);
  std::chrono::nanoseconds lease_;
  std::uint32_t free_ = kNoSlot;
  std::uint32_t used_ = 0;
  LockCounters counters_;
  std::vector<std::uint32_t> next_free_;
  /// Homes to which nothing can be posted any more.
  std::vector<bool> unreachable_;
  std::uint32_t thrown_count_ = 0;
  std::vector<std::exception_ptr> thrown_;
};

/// A step of a protocol: what a worker does to words and mailboxes while no home repairs its locks.
/// A home that repairs waits for the end of each step, so a step waits for nothing but the device.
/// Owner thread only.
class Step {
 public:
  explicit Step(Worker& worker) noexcept : stepping_(worker.stepping_) {
    // The store comes before the load for SpaceCore::freeze, which stores `frozen` and then reads
    // this flag: by its membarrier(2) in between, or where there is none, by the exchange.
    if (worker.expedited_) [[likely]] {
      stepping_.store(1, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      stepping_.exchange(1, std::memory_order_seq_cst);
    }
    // Acquire: pairs with SpaceCore::thaw.
    if (worker.frozen_.load(std::memory_order_acquire) != 0) [[unlikely]]
      worker.wait_unfrozen();
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  /// Release: pairs with SpaceCore::freeze, which then sees what the step has posted.
  ~Step() { stepping_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t>& stepping_;
};

}  // namespace locks::detail
