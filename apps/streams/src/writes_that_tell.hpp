// SPDX-License-Identifier: MIT
// Counts of writes whose immediate data tells what a word of its own tells otherwise.
#pragma once

#include <cstdint>

#include "streams/limits.hpp"

namespace streams {

/// A write with immediate data tells of its bytes in one request instead of two, and wakes a side
/// that sleeps; but each takes a receive of the other side, which posts a fixed number of them and
/// posts each one again when its completion was polled. So the sender has credits, which the
/// receiver gives back in Feedback::heard. Who has none left tells by a word: no send ever waits
/// for a receive. A side of the shm device gives no credits. Owner thread only.
class WritesThatTell {
 public:
  /// `receives`: posted by this side.
  explicit WritesThatTell(std::uint32_t receives) noexcept : receives_(receives) {}
  void meet(std::uint32_t receives_there) noexcept { receives_there_ = receives_there; }

  /// Receives to post at first; 0: no such write comes.
  std::uint32_t receives() const noexcept { return receives_; }

  /// The other side takes such writes.
  bool may_leave() const noexcept { return receives_there_ != 0; }
  std::uint32_t credits() const noexcept {
    return receives_there_ - static_cast<std::uint32_t>(left_ - heard_there_);
  }
  std::uint64_t heard_there() const noexcept { return heard_there_; }
  void count_leaving() noexcept { ++left_; }
  /// The other side has heard `more`. False: it cannot have.
  bool give_back(std::int64_t more) noexcept {
    if (more < 0 || static_cast<std::uint64_t>(more) > left_ - heard_there_) return false;
    heard_there_ += static_cast<std::uint64_t>(more);
    return true;
  }

  /// One came, and its receive was posted again.
  void count_heard() noexcept { ++heard_; }
  std::uint64_t heard() const noexcept { return heard_; }
  /// Credits are to be given back.
  bool owes_credits() const noexcept { return heard_ - returned_ > receives_ / kPartsOfReceives; }
  void count_returned() noexcept { returned_ = heard_; }

 private:
  std::uint32_t receives_;
  std::uint32_t receives_there_ = 0;
  std::uint64_t left_ = 0;
  std::uint64_t heard_there_ = 0;
  std::uint64_t heard_ = 0;
  std::uint64_t returned_ = 0;
};

}  // namespace streams
