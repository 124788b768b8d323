// SPDX-License-Identifier: MIT
// What the members of a view decide about its end, and what each says of itself.
#pragma once

#include <cstdint>
#include <type_traits>

#include "groups/group_options.hpp"
#include "sst/versioned.hpp"

namespace groups::detail {

/// A row of a view as a bit of a set of members.
constexpr std::uint64_t bit(std::uint16_t row) noexcept { return std::uint64_t{1} << row; }

/// A value of the Agreement of a view. Members of the view are named by their rows, as bits or
/// numbers.
struct Decision {
  enum Kind : std::uint8_t {
    kNone,
    /// An attempt: deliver the positions below `trim`, then make the tables of the next view: of
    /// the members in `stay`, and of a process that joins.
    kNext,
    /// That attempt is the next view.
    kCommit,
  };
  std::uint64_t kind : 8 = kNone;
  /// From 1 in each view.
  std::uint64_t attempt : 56 = 0;
  std::uint64_t stay = 0;
  std::uint64_t trim = 0;
  /// Of the joining process' request; 0: nobody joins.
  std::uint32_t ticket = 0;
  /// The process, and the row of the member that gives it the state.
  std::uint16_t joiner = 0;
  std::uint16_t donor = 0;
};
static_assert(sizeof(Decision) == 32 && std::is_trivially_copyable_v<Decision>);

/// What a member says of itself in a view; it alone writes it.
struct Standing {
  /// It is wedged, and has received so many positions less one; 0: it is not wedged.
  std::uint64_t wedged = 0;
  /// The attempt whose tables it has made, and the last one in which that came to nothing.
  std::uint64_t made = 0;
  std::uint64_t broken = 0;
  /// A process that it brings up to date, and that nearly is; 0: there is none.
  std::uint32_t ticket = 0;
  std::uint16_t joiner = 0;
  /// It joins by this view, and has made the tables.
  bool arrived = false;
  /// It wants to leave.
  bool leaving = false;
  /// It knows that this is the next view.
  bool committed = false;
  /// It uses these tables no more.
  bool parted = false;
};

/// A member's row in a view.
struct ViewRow {
  sst::Versioned<Standing> standing;
  /// OrderedGroup::set_persisted.
  sst::Versioned<std::uint64_t> persisted;
  /// Changes as long as it makes progress (GroupOptions::patience).
  std::uint64_t beat;
  /// ReadRounds: the last round that it has asked for; and, by row, the last one of each member
  /// that it has seen while it was not wedged, which only this member is told.
  std::uint64_t asked;
  std::uint64_t seen[kMaxGroupMembers];
};

}  // namespace groups::detail
