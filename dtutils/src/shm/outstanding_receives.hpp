// SPDX-License-Identifier: MIT
// The receives of a shared receive queue that are posted or in the hands of a sender, as positions.
#pragma once

#include <cstdint>
#include <vector>

#include "shm/layout.hpp"

namespace dtutils::shm {

/// Counts what occupies a shared receive queue, so that it accepts its depth and no more. A receive
/// is outstanding from its post until the sender that took it has copied it out, which is before
/// its completion; a sender that is preempted or stopped on the way keeps it outstanding.
///
/// The count is the owner's alone, in private memory, and follows from the words of the slots: a
/// counter that senders change would be wrong once one of them has died between its two changes.
/// Senders take in the order of the posts, so a look at the oldest receive that is not known to be
/// taken is enough; the few that were seen in a sender's hands are remembered apart.
///
/// Whoever posts, one thread at a time.
class OutstandingReceives {
 public:
  /// `ring` has more slots than `depth`, see slot_word.hpp. Setup only.
  OutstandingReceives(const RingPlace& ring, std::uint32_t depth);

  std::uint32_t depth() const noexcept { return depth_; }
  /// True when fewer receives than the depth are outstanding.
  bool has_room(ControlSegment& segment) noexcept;
  /// One was posted at `position`, while there was room.
  void add(ControlSegment& segment, std::uint64_t position) noexcept;

 private:
  std::uint64_t count() const noexcept { return last_ - first_ + held_.size(); }
  std::uint64_t oldest() const noexcept { return in_order_[first_ & (in_order_.size() - 1)]; }
  std::uint64_t word_at(ControlSegment& segment, std::uint64_t position) const noexcept;
  bool is_posted(ControlSegment& segment, std::uint64_t position) const noexcept;
  bool is_held(ControlSegment& segment, std::uint64_t position) const noexcept;
  /// The oldest was taken: done with, or held.
  void settle_oldest(ControlSegment& segment) noexcept;

  const RingPlace ring_;
  const std::uint32_t depth_;
  /// Numbers first_ to last_ are not known to be taken. 2^n entries.
  std::vector<std::uint64_t> in_order_;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  /// Those that a sender had taken and not given back when somebody looked.
  std::vector<std::uint64_t> held_;
};

}  // namespace dtutils::shm
