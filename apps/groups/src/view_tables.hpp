// SPDX-License-Identifier: MIT
// What the members of one view share: messages, what each says of itself, the decisions of its end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "decision.hpp"
#include "groups/group_options.hpp"
#include "sst/agreement.hpp"
#include "sst/multicast.hpp"
#include "sst/table.hpp"

namespace groups::detail {

/// Rows are members, in the order of View::members. Owner thread only.
class ViewTables {
 public:
  /// Takes what is delivered.
  using Take = std::function<void(const sst::Message&)>;

  /// A collective of the members, each with the same view and attempt. Throws PeerFailed, and Error
  /// also when `give_up` says so (sst::TableOptions::give_up).
  ViewTables(sst::TableGroup& group, const GroupOptions& options, const View& view,
             std::uint64_t attempt, Take take, std::function<bool()> give_up);
  ViewTables(const ViewTables&) = delete;
  ViewTables& operator=(const ViewTables&) = delete;
  /// Waits for nobody. The others find this member gone from the view.
  ~ViewTables();

  /// Number of members.
  std::size_t size() const noexcept { return view.members.size(); }
  /// The row of this process.
  std::uint16_t self() const noexcept { return state.self().value; }
  /// The row of a process; empty when it is no member.
  std::optional<std::uint16_t> find(dsfabric::ProcessId process) const noexcept;
  /// What a member says of itself.
  Standing standing(std::uint16_t row) const noexcept {
    return state.get(sst::MemberId{row}, &ViewRow::standing);
  }
  /// Says something else of this member, and pushes it.
  template <class Change>
  void say(Change change) noexcept {
    Standing mine = state.mine(&ViewRow::standing);
    change(mine);
    state.set(&ViewRow::standing, mine);
  }
  /// The member failed, as this process believes, and was cut off, or it left the job.
  bool frozen(std::uint16_t row) const noexcept {
    return row != self() && state.frozen(sst::MemberId{row});
  }
  /// The members that take part in decisions, as bits.
  std::uint64_t included() const noexcept;
  /// More than half of the members are in this set.
  bool is_majority(std::uint64_t rows) const noexcept;

  const View view;
  const std::uint64_t attempt;
  /// Decided, and not followed yet.
  std::vector<Decision> decisions;
  sst::Table<ViewRow> state;
  sst::Multicast<Take> messages;
  sst::Agreement<Decision> agreement;
};

}  // namespace groups::detail
