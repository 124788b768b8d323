// SPDX-License-Identifier: MIT
// When a piece of memory is free again, if several queue pairs use it at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dtutils/selective_signaling.hpp"

namespace dtutils {

/// The tags of one piece of memory: the last one of each queue pair that used it. It is done when
/// all of them are. Tickets of one queue pair grow, so the last stands for the earlier ones
/// (Seriema 4.1); those of different queue pairs say nothing about each other, so each is kept.
///
/// The protection domain, which keeps the counters of all tags, outlives it. Owner thread only,
/// unless said otherwise.
class RetireTags {
 public:
  /// Makes room for the tags of this many queue pairs; for one there is always room. Setup only.
  void reserve(std::uint32_t queue_pairs) {
    if (queue_pairs > 1) {
      others_.reserve(queue_pairs - 1);
    }
  }

  /// Keeps the tag without allocating. False when there is no room, because so many other queue
  /// pairs still use the piece: then the caller waits until the tag, or one of those, is done.
  [[nodiscard]] bool add(RetireTag tag) noexcept {
    if (first_.retired == tag.retired) {
      first_.ticket = std::max(first_.ticket, tag.ticket);
      return true;
    }
    return tag.retired == nullptr || add_other(tag);
  }

  /// Keeps all tags of `tags`, making room where needed. Setup only.
  void absorb(const RetireTags& tags) {
    for (const RetireTag& tag : tags.others_) {
      absorb(tag);
    }
    absorb(tags.first_);
  }

  /// Whether the piece may be used again.
  bool done() const noexcept {
    return first_.done() && std::all_of(others_.begin(), others_.end(),
                                        [](const RetireTag& tag) { return tag.done(); });
  }

  /// Forgets the tags that are done; true when none is left.
  bool forget_done() noexcept {
    std::erase_if(others_, [](const RetireTag& tag) { return tag.done(); });
    if (first_.done()) {
      first_ = {};
    }
    return first_.retired == nullptr && others_.empty();
  }

  /// Forgets all tags; keeps the room.
  void clear() noexcept {
    first_ = {};
    others_.clear();
  }

 private:
  bool add_other(RetireTag tag) noexcept {
    const auto same = [&](const RetireTag& other) { return other.retired == tag.retired; };
    if (const auto known = std::find_if(others_.begin(), others_.end(), same);
        known != others_.end()) {
      known->ticket = std::max(known->ticket, tag.ticket);
      return true;
    }
    if (first_.done()) {
      first_ = tag;
      return true;
    }
    const auto done = [](const RetireTag& other) { return other.done(); };
    if (const auto over = std::find_if(others_.begin(), others_.end(), done);
        over != others_.end()) {
      *over = tag;
      return true;
    }
    if (others_.size() == others_.capacity()) {
      return false;
    }
    others_.push_back(tag);
    return true;
  }

  void absorb(RetireTag tag) {
    if (!add(tag)) {
      others_.push_back(tag);
    }
  }

  RetireTag first_;
  /// Never grows above its capacity, except in `absorb`.
  std::vector<RetireTag> others_;
};

}  // namespace dtutils
