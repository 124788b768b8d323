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
/// all processes agree on it (Agreement). The upcall runs on the evaluating thread of every
/// process, in the same order everywhere; a member makes its tables for the view there:
///
///     sst::Membership membership{space, [&](const sst::View& view) { ... new Table ... }};
///     membership.take_part(true);
///
/// A member may die while the tables are made: they throw PeerFailed, and the next view, without
/// it, follows. Owner thread only: the evaluating one.
class Membership {
 public:
  using Upcall = std::function<void(const View& view)>;

  /// A collective of all processes of the job. Throws as Table.
  Membership(Space& space, Upcall upcall, const std::string& name = "membership");
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  void take_part(bool wanted) noexcept { wishes_.set(&Wish::wanted, wanted); }
  const View& view() const noexcept { return view_; }

  bool evaluate();
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
