// SPDX-License-Identifier: MIT
// Reads that take no place in the order: when they may run.
#pragma once

#include <cstdint>

#include "view_tables.hpp"

namespace groups::detail {

/// For OrderedGroup::begin_read, as the read index of Raft (Ongaro 2014, section 6.4), without a
/// leader. A round is a number in the row of the member that reads (ViewRow::asked). Members that
/// are not wedged copy it (ViewRow::seen). Once a majority of the view, this member included, has
/// it, this view was the last one when the round began: the next view needs more than half of this
/// one, all of them wedged. So whatever anybody had delivered then was delivered in this view or
/// before it, hence was received here; and when this member has delivered what it has received by
/// now, reads of that round may run.
///
/// A round that a view does not answer is asked again in the next one. tests/groups/model/reads.pml
/// holds this. Owner thread only.
class ReadRounds {
 public:
  /// As OrderedGroup::begin_read.
  std::uint64_t begin() noexcept {
    if (wanted_ == asked_) ++wanted_;
    return wanted_;
  }
  /// As OrderedGroup::readable.
  std::uint64_t ready() const noexcept { return ready_; }
  /// Asks for the round that was begun. True when there is one. Not while wedged.
  bool ask(ViewTables& view) noexcept;
  /// Answers others, and looks for answers. True when something happened. Not while wedged.
  bool evaluate(ViewTables& view) noexcept;
  /// The members are those of another view.
  void enter_view() noexcept { asked_ = confirmed_ = ready_; }

 private:
  bool answer(ViewTables& view) noexcept;
  std::uint64_t seen_by_majority(const ViewTables& view) const noexcept;

  /// Begun, asked for in this view, seen by a majority of it, and with all messages delivered.
  std::uint64_t wanted_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t confirmed_ = 0;
  std::uint64_t ready_ = 0;
  /// What has to be delivered for `confirmed_`: all positions below.
  std::uint64_t end_ = 0;
};

}  // namespace groups::detail
