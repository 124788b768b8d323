// SPDX-License-Identifier: MIT
// The part of an agreement that knows no type of value: ballots, votes, quorums, removals.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "sst/quorum.hpp"
#include "sst/table.hpp"

namespace sst::detail {

/// For Agreement, which says what is promised. Single-decree Paxos for one *slot* after the other,
/// over the rows of a table. The columns of a member, which it alone writes and pushes in order:
///
///  - `ballot`: the highest one that it has promised. It votes in no lower one any more.
///  - `vote`: the last entry that it has voted for, of the slot and ballot named in it.
///  - `decision`: the last entry that it knows as decided.
///  - `gone`: members that its fabric calls failed or left.
///  - `parted`: it does not take part any more; every member that sees this counts it as gone.
///
/// Members and slots. `taking_part` begins with all members; the decision of a slot may remove
/// some, and each slot is decided by those that take part in it; rows of others do not count.
///
/// The rules, which each member follows for the slot behind its last decision, `slot`:
///  1. promise: the highest ballot in any row. At first it is one of the first member.
///  2. vote: for what anybody voted for in the ballot promised.
///  3. decide: an entry that somebody knows as decided, or that a quorum has voted for in the
///     ballot of its own vote.
///  4. campaign: the leader takes a new ballot, if there is anything to decide and the ballot
///     promised is not its own. The leader is the first member that is not gone and whose own
///     `gone` leaves it a quorum.
///  5. propose: when a quorum has promised its ballot, it votes for the entry of the highest ballot
///     that it finds in their rows; if there is none, first for the removal of who is gone, then
///     for what it was asked to propose. With kMajority gone is also who is named so by a member
///     that stands before it (of two that lost each other, the first one stays). So a value that is
///     decided stays decided: any two quorums have a member in common, whose row shows it to every
///     later ballot. Something new waits until all that take part, but for the gone, know the
///     decision before; so no row forgets a decision that somebody needs, and who finds that it
///     missed one was removed.
///
/// What a member reads of another may be old, as old as the last push that came before the
/// connection broke. That delays the rules, and none of them is wrong for it: a quorum is counted
/// by what its members say of themselves, ballot before vote, and a promise is pushed behind the
/// votes before it. Beliefs about who is gone differ between members and may be wrong; with
/// kMajority they say only who campaigns, who is waited for, and what is proposed. Here they are
/// those of Table::frozen. tests/sst/model/agreement.pml holds the rules.
///
/// The fence: a member that was removed because it failed is declared failed to the fabric of this
/// process, and nothing further is done here before its connections are cut. Owner thread only.
class AgreementCore {
 public:
  /// A value as bytes.
  using Value = std::array<std::uint64_t, 4>;
  /// Runs on the evaluating thread, once for each decision, in their order.
  using Decided = std::function<void(std::uint64_t number, const Value& value)>;

  /// Throws as Table, and Error for the mode kReads, which keeps no order among fields.
  AgreementCore(TableGroup& group, TableOptions options, Quorum quorum, Decided decided);
  AgreementCore(const AgreementCore&) = delete;
  AgreementCore& operator=(const AgreementCore&) = delete;
  ~AgreementCore();

  /// As Agreement::propose.
  void propose(const Value& value) { wish_ = value; }
  /// As Agreement::withdraw.
  void withdraw() noexcept { wish_.reset(); }
  /// As Agreement::leads.
  bool leads() const noexcept;
  /// As Agreement::idle.
  bool idle() const noexcept;
  /// As Agreement::state.
  AgreementState state() const noexcept;
  /// As Agreement::behind.
  bool behind() const noexcept { return !removed_ && decision().has_value(); }
  /// As Agreement::decided.
  std::uint64_t decided() const noexcept { return number_; }
  /// As Agreement::includes.
  bool includes(dsfabric::ProcessId process) const noexcept {
    const std::optional<MemberId> member = table_.find(process);
    return member && taking_part_.contains(*member);
  }

  /// As Agreement::evaluate.
  bool evaluate() { return table_.evaluate(); }
  /// The options of its table, with all members filled in.
  const TableOptions& options() const noexcept { return table_.options(); }

 private:
  enum class Kind : std::uint8_t { kNothing, kValue, kRemoveFailed, kRemoveParted };
  /// What a slot is decided to be. Of removals the value is a RowSet.
  struct Entry {
    /// Round, then 16 bits: the row of who proposed it, and 1.
    std::uint64_t ballot;
    /// From 1; none: 0.
    std::uint64_t slot : 56;
    std::uint64_t kind : 8;
    Value value;
  };
  static_assert(sizeof(Entry) == 48);
  struct Row {
    std::uint64_t ballot;
    Versioned<Entry> vote;
    Versioned<Entry> decision;
    Versioned<RowSet> gone;
    bool parted;
  };
  using State = Table<Row>;

  std::optional<MemberId> leader() const noexcept;
  template <class Test>
  RowSet those(const RowSet& among, Test test) const noexcept;
  template <class Test>
  bool all_of(const RowSet& among, Test test) const noexcept {
    return those(among, test) == among;
  }
  /// Whether there is a quorum among them.
  bool is_quorum(const RowSet& members) const noexcept;
  /// Each of them says that all others are gone.
  bool are_alone(const RowSet& members) const noexcept;
  /// The members that are gone as the row of `member` says, or that parted.
  RowSet gone_to(MemberId member) const noexcept;
  bool knows_last(MemberId member) const noexcept;
  bool owns(std::uint64_t ballot) const noexcept;
  std::uint64_t my_ballot() const noexcept { return table_.mine(&Row::ballot); }
  std::uint64_t highest_ballot() const noexcept;
  /// The vote of the highest ballot for the slot, in the rows of `among`.
  std::optional<Entry> highest_vote(const RowSet& among) const noexcept;
  bool is_cut_off() const noexcept;

  RowSet found_gone() const noexcept;
  /// Who is to take part no more: see rule 5.
  RowSet to_remove() const noexcept;
  bool was_left_behind() const noexcept;
  std::optional<Entry> decision() const noexcept;
  std::optional<Entry> vote() const noexcept;
  bool should_campaign() const noexcept;
  std::optional<Entry> proposal() const noexcept;
  Entry entry(Kind kind, const Value& value) const noexcept;

  void decide(const Entry& entry);
  void remove(const RowSet& members, bool failed);
  void campaign();
  void vote_for(const Entry& proposal);

  const Quorum quorum_;
  Decided decided_;
  std::uint64_t slot_ = 1;
  /// Values decided.
  std::uint64_t number_ = 0;
  bool removed_ = false;
  RowSet taking_part_;
  /// Removed as failed; their connections may not be cut yet.
  RowSet cut_off_;
  std::optional<Value> wish_;
  /// The wish that this slot's vote was made from.
  std::optional<Value> proposed_;
  std::uint32_t campaigns_ = 0;
  dtutils::Clock::time_point next_campaign_{};
  State table_;
};

}  // namespace sst::detail
