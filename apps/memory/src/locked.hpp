// SPDX-License-Identifier: MIT
// The exclusive lock of a segment, as its home holds it.
#pragma once

#include "home.hpp"

namespace memory::detail {

/// Tries to take the lock; never waits for long. Released at its end.
class Home::Locked {
 public:
  Locked(Home& home, const Segment& segment, const Place& place) noexcept
      : home_(home), word_(&segment.header().lock), zone_(place.zone()) {
    held_ = home.lock(word_, zone_, before_);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() { release(); }

  explicit operator bool() const noexcept { return held_; }
  /// The lock word as it was found.
  std::uint64_t before() const noexcept { return before_; }
  /// Clears a bit that is set.
  void drop(std::uint64_t bit) noexcept { home_.add(word_, zone_, ~bit + 1); }
  /// Sets a bit that is not set.
  void set(std::uint64_t bit) noexcept { home_.add(word_, zone_, bit); }
  void release() noexcept {
    if (held_) home_.add(word_, zone_, ~writer_word(home_.fabric_.process()) + 1);
    held_ = false;
  }

 private:
  Home& home_;
  std::uint64_t* word_;
  std::uint32_t zone_;
  std::uint64_t before_ = 0;
  bool held_ = false;
};

}  // namespace memory::detail
