// SPDX-License-Identifier: MIT
// The memory that all larger rings of a process may take.
#pragma once

#include <cstddef>
#include <cstdint>

namespace streams {

/// The share of one stream, which goes back with it. Owner thread only; streams of several threads
/// take from the same memory.
class RingBudget {
 public:
  RingBudget() = default;
  RingBudget(const RingBudget&) = delete;
  RingBudget& operator=(const RingBudget&) = delete;
  ~RingBudget() { give_back(taken_); }

  /// False: others have so much that kLargerRings would be exceeded.
  bool take(std::size_t bytes) noexcept;
  void give_back(std::size_t bytes) noexcept;

 private:
  std::size_t taken_ = 0;
};

}  // namespace streams
