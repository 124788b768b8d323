// SPDX-License-Identifier: MIT
// Selective signaling as the user of a queue pair writes it by hand.
#pragma once

#include <cstdint>

#include "dtutils/limits.hpp"
#include "dtutils/post_flags.hpp"

namespace link_bench {

/// One post in kEvery is signaled; a completion is awaited when kWindow are outstanding. The same
/// numbers as Transmitter's, so that the two differ only in who does the work. Owner thread only.
class HandSignaling {
 public:
  static constexpr std::uint64_t kEvery = dtutils::kSignalInterval;
  static constexpr std::uint64_t kWindow = dtutils::kSignalAllFrom;
  static_assert(kWindow % kEvery == 0 && kWindow <= dtutils::kSendDepth);

  /// How many posts to make for `wanted` ones, so that the last of them is signaled.
  static constexpr std::uint64_t posts_for(std::uint64_t wanted) noexcept {
    return (wanted + kEvery - 1) / kEvery * kEvery;
  }

  /// Call before each post: the flags for it. `await` returns after one completion.
  template <class Await>
  unsigned next(Await&& await) {
    if (posted_ - completed_ == kWindow) {
      await();
      completed_ += kEvery;
    }
    return ++posted_ % kEvery == 0 ? dtutils::kSignaled : dtutils::kUnsignaled;
  }

  /// Awaits everything; after posts_for() posts.
  template <class Await>
  void drain(Await&& await) {
    for (; completed_ < posted_; completed_ += kEvery) await();
  }

 private:
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace link_bench
