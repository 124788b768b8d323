// SPDX-License-Identifier: MIT
// The order of messages by turns: positions, what has come without a gap, when nulls are due.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sst::detail {

/// Each sender takes its turns 0, 1, 2, ... one after the other, by a message, or by a null message
/// that stands for one or more turns. Turn t of sender s, of k senders, has the position t * k + s.
/// Positions are the order in which everybody delivers (Derecho lecture, slide 13).
///
/// A sender that has nothing to send takes turns by a null message as soon as a later position has
/// come from somebody else (Spindle). Only then: so nulls do not call forth nulls without end. For
/// say that a null message at position q was sent because of a message at position p > q; whoever
/// must take turns before q, must take them before p in any case.
///
/// Owner thread only.
class TurnOrder {
 public:
  explicit TurnOrder(std::size_t senders) : turns_(senders) {}

  /// `sender` has taken so many more turns, and they have come here.
  void take(std::size_t sender, std::uint64_t turns) noexcept { turns_[sender] += turns; }
  /// Turns of `sender` that have come here.
  std::uint64_t taken(std::size_t sender) const noexcept { return turns_[sender]; }

  /// All positions below this one have come here.
  std::uint64_t received() const noexcept {
    const std::uint64_t least = *std::min_element(turns_.begin(), turns_.end());
    std::uint64_t more = 0;
    while (turns_[more] > least) ++more;  // ends at a sender with the least
    return least * turns_.size() + more;
  }
  /// Turns that `sender` must have taken, so that what has come from the others can be delivered.
  std::uint64_t due(std::size_t sender) const noexcept {
    std::uint64_t turns = 0;
    for (std::size_t other = 0; other < turns_.size(); ++other) {
      if (other == sender || turns_[other] == 0) continue;
      turns = std::max(turns, turns_[other] - (sender < other ? 0 : 1));
    }
    return turns;
  }

  /// The position to be delivered next, and the sender of it.
  std::uint64_t position() const noexcept { return position_; }
  std::size_t sender() const noexcept { return sender_; }
  /// It is delivered.
  void advance() noexcept {
    ++position_;
    if (++sender_ == turns_.size()) sender_ = 0;
  }

 private:
  std::vector<std::uint64_t> turns_;
  std::uint64_t position_ = 0;
  /// position_ % senders.
  std::size_t sender_ = 0;
};

}  // namespace sst::detail
