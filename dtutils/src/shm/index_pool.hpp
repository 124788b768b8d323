// SPDX-License-Identifier: MIT
// Hands out indices of the control segment's tables.
#pragma once

#include <cstdint>
#include <deque>

namespace dtutils::shm {

/// Indices below a bound, the longest unused one first, so that an index (and with its generation,
/// a key) comes back as late as possible. Setup only; the caller locks.
class IndexPool {
 public:
  /// `what` names them in an Error.
  IndexPool(std::uint32_t bound, const char* what) : bound_(bound), what_(what) {}
  /// Throws Error when all are in use.
  std::uint32_t take();
  void give(std::uint32_t index) { free_.push_back(index); }

 private:
  const std::uint32_t bound_;
  const char* const what_;
  std::uint32_t used_ = 0;
  std::deque<std::uint32_t> free_;
};

}  // namespace dtutils::shm
