// SPDX-License-Identifier: MIT
// Bytes in anonymous shared memory, under a lock that survives its holders.
#include "returned.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "read_ahead.hpp"

namespace preload {
namespace {

/// As much as a process has of one connection: what it took ahead, and the largest ring.
constexpr std::size_t kPlace = ReadAhead::kMost + (std::size_t{1} << 18);
/// Connections of which bytes wait at the same time. Pages are only taken when bytes come.
constexpr std::uint32_t kPlaces = 16;
constexpr std::time_t kPatienceSeconds = 1;

std::byte* places = nullptr;
/// In the shared memory, behind the places: one bit for each that is taken.
std::atomic<std::uint32_t>* taken_places = nullptr;

std::byte* memory_of(std::uint32_t place) noexcept { return places + (place - 1) * kPlace; }

/// 0: there is none.
std::uint32_t take_place() noexcept {
  if (places == nullptr) return 0;
  for (std::uint32_t i = 0; i < kPlaces; ++i) {
    const std::uint32_t bit = 1u << i;
    // Acquire: what the last one did there comes before; pairs with the release in `give_place`.
    if ((taken_places->fetch_or(bit, std::memory_order_acquire) & bit) == 0) return i + 1;
  }
  return 0;
}

void give_place(std::uint32_t place) noexcept {
  // Its pages go back to the kernel.
  madvise(memory_of(place), kPlace, MADV_REMOVE);
  taken_places->fetch_and(~(1u << (place - 1)), std::memory_order_release);
}

/// The part of a ring that begins at a position.
std::array<iovec, 2> part_of(std::byte* ring, std::uint64_t begin, std::size_t length) noexcept {
  const std::size_t offset = begin % kPlace;
  const std::size_t first = std::min(length, kPlace - offset);
  return {{{ring + offset, first}, {ring, length - first}}};
}

}  // namespace

void prepare_returned() noexcept {
  void* const memory =
      mmap(nullptr, kPlaces * kPlace + sizeof *taken_places, PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  places = static_cast<std::byte*>(memory);
  taken_places = reinterpret_cast<std::atomic<std::uint32_t>*>(places + kPlaces * kPlace);
}

void Returned::begin() noexcept {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex_, &kind);
  pthread_mutexattr_destroy(&kind);
  asked_ = sends_ = abandoned_ = knows_taken_ = knows_word_ = hearing_ = resumable_ = false;
  fate_ = Fate::kOpen;
  next_ = Next::kOwner;
  // What a connection left that ended with bytes unread.
  if (place_ != 0) give_place(place_);
  place_ = 0;
  begin_ = end_ = taken_ = 0;
}

Returned::Lock::Lock(Returned& of) noexcept : of_(of), has_(false) {
  timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += kPatienceSeconds;
  const int code = pthread_mutex_clocklock(&of.mutex_, CLOCK_MONOTONIC, &end);
  if (code == EOWNERDEAD) {
    pthread_mutex_consistent(&of.mutex_);
    if (of.hearing_) of.lose();
  } else if (code != 0) {
    of.lose();
    return;
  }
  has_ = true;
}

Returned::Lock::~Lock() {
  if (has_) pthread_mutex_unlock(&of_.mutex_);
}

std::array<iovec, 2> Returned::room() noexcept {
  if (place_ == 0) place_ = take_place();
  if (place_ == 0) return {};
  return part_of(memory_of(place_), end(), kPlace - size());
}

void Returned::add(std::size_t bytes) noexcept {
  end_.store(end() + bytes, std::memory_order_release);
  drop(0);
}

std::array<iovec, 2> Returned::bytes() const noexcept {
  if (place_ == 0) return {};
  return part_of(memory_of(place_), begin_.load(std::memory_order_relaxed), size());
}

void Returned::drop(std::size_t bytes) noexcept {
  begin_.store(begin_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
  if (size() != 0 || place_ == 0) return;
  // In this order: who dies between keeps a place from others, and uses none that is not its own.
  give_place(std::exchange(place_, 0));
}

}  // namespace preload
