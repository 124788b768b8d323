// SPDX-License-Identifier: MIT
// Who takes part: a sequence of views that all processes agree on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sst/agreement.hpp"
#include "sst/table.hpp"

namespace sst {

/// Who takes part from now on.
struct View {
  /// From 1.
  std::uint64_t number = 0;
  /// In ascending order.
  std::vector<dsfabric::ProcessId> members;
};

/// All processes of the job make one. A process says whether it wants to take part; the view is
/// made of those that want to and live. When that changes, the leader proposes the next view, and
/// all processes agree on it (Agreement, whose promises hold here). The upcall runs on the
/// evaluating thread of every process, in the same order everywhere; a member makes its tables for
/// the view there:
///
///     sst::Membership membership{space, [&](const sst::View& view) { ... new Table ... }};
///     membership.take_part(true);
///
/// A member may die while the tables are made: they throw PeerFailed, and the next view, without
/// it, follows. Which of those that want to take part live is the belief of the leader
/// (Table::frozen), but it counts only once it is decided: first a quorum of the processes removes
/// the dead, then they decide the view.
///
/// A process that was removed although it lives, because it was stopped or cut off, gets no view
/// any more and learns it from `state`: what it does counts no more, and it can only end. Without a
/// quorum `state` says so, and the last view stays. Owner thread only: the evaluating one.
class Membership {
 public:
  /// Runs for each new view, see the class.
  using Upcall = std::function<void(const View& view)>;

  /// A collective of all processes of the job, with the same quorum. Throws as Table.
  Membership(TableGroup& group, Upcall upcall, const std::string& name = "membership",
             Quorum quorum = Quorum::kMajority);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// Says whether this process wants to be in the next views.
  void take_part(bool wanted) noexcept { wishes_.set(&Wish::wanted, wanted); }
  /// The last view; number 0 and no members before the first one.
  const View& view() const noexcept { return view_; }
  /// Whether this process can still learn of views (Agreement::state).
  AgreementState state() const noexcept { return agreement_.state(); }

  /// Makes progress, and runs the upcall for new views. True when something changed.
  bool evaluate();
  /// evaluate() as work of Thread::progress().
  dsfabric::ProgressHook hook() noexcept;

 private:
  struct Wish {
    bool wanted;
  };
  MemberSet wanted() const;

  Upcall upcall_;
  View view_;
  MemberSet members_;
  Table<Wish> wishes_;
  Agreement<MemberSet> agreement_;
};

}  // namespace sst
