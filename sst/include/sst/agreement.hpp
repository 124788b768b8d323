// SPDX-License-Identifier: MIT
// Two-phase agreement through a table: all members decide the same values in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "sst/table.hpp"

namespace sst {

/// The leader writes a proposal into its row; the others copy it into theirs; whoever sees the same
/// proposal in the rows of all that live takes it as decided (Derecho lecture, slide 23).
///
/// The leader is the first member that lives. When it dies, the next one proposes again what it has
/// copied and not seen decided, before anything of its own: somebody may have decided it, which
/// needs the copy of every member that lives. The next proposal waits until everybody has decided
/// the one before, so nobody misses any.
///
/// It assumes that a process which the fabric calls failed (or left) is gone, for everybody:
/// crashes, no partitions. A member that dies before its proposal reached anybody takes it along.
///
/// Any number of members; each is at any time in one call of evaluate() at most (`hook`, as Table).
/// `T` is plain data of at most 32 bytes. Owner thread only: the evaluating one.
template <class T>
class Agreement {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 32,
                "cariama: sst::Agreement<T> decides plain data of at most 32 bytes");

  struct Proposal {
    /// Which attempt: round << 16 | proposer. Grows; that of a later leader is larger in the same
    /// round, because leaders come in the order of members.
    std::uint64_t ballot;
    /// Which decision it is to become, from 1.
    std::uint64_t number;
    T value;
  };
  struct Row {
    Wide<Proposal> copied;
    /// The last decision.
    std::uint64_t decided;
  };
  using State = Table<Row>;

 public:
  /// Runs on the evaluating thread, once for each decision, in their order.
  using Decided = std::function<void(std::uint64_t number, const T& value)>;

  /// As Table, by all its members.
  Agreement(Space& space, TableOptions options, Decided decided)
      : decided_(std::move(decided)), table_(space, std::move(options)) {
    table_.when([this](const State& t) { return should_copy(t); }).recurrent([this](State& t) {
      t.set(&Row::copied, t.get(*leader(), &Row::copied));
    });
    table_.when([this](const State& t) { return should_take_over(t); }).recurrent([this](State& t) {
      propose_at(t, t.mine(&Row::copied).value);
    });
    table_.when([this](const State& t) { return is_decided(t); }).recurrent([this](State& t) {
      const Proposal decision = t.mine(&Row::copied);
      t.set(&Row::decided, decision.number);
      decided_(decision.number, decision.value);
    });
    table_.when([this](const State& t) { return wish_ && may_propose(t); })
        .recurrent([this](State& t) {
          propose_at(t, *wish_);
          wish_.reset();
        });
  }
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  /// Wishes that `value` be decided next. Only the leader's wish is taken up, as soon as everything
  /// before is decided; a later wish replaces an earlier one that was not.
  void propose(const T& value) { wish_ = value; }
  bool leads() const noexcept { return leader() == table_.self(); }
  /// Nothing is on its way.
  bool idle() const noexcept { return !wish_ && may_propose(table_); }
  /// The number of the last decision here.
  std::uint64_t decided() const noexcept { return table_.mine(&Row::decided); }

  bool evaluate() { return table_.evaluate(); }
  dsfabric::ProgressHook hook() noexcept { return table_.hook(); }
  const TableOptions& options() const noexcept { return table_.options(); }

 private:
  std::optional<MemberId> leader() const noexcept {
    for (std::uint16_t i = 0; i < table_.size(); ++i) {
      if (MemberId{i} == table_.self() || !table_.frozen({i})) return MemberId{i};
    }
    return std::nullopt;
  }
  template <class Test>
  bool all_that_live(const State& t, Test test) const noexcept {
    for (std::uint16_t i = 0; i < t.size(); ++i) {
      if ((MemberId{i} == t.self() || !t.frozen({i})) && !test(MemberId{i})) return false;
    }
    return true;
  }
  bool should_copy(const State& t) const noexcept {
    const MemberId first = *leader();
    return first != t.self() && t.get(first, &Row::copied).ballot > t.mine(&Row::copied).ballot;
  }
  bool undecided(const State& t) const noexcept {
    return t.mine(&Row::copied).number > t.mine(&Row::decided);
  }
  bool should_take_over(const State& t) const noexcept {
    return undecided(t) && leads() && (t.mine(&Row::copied).ballot & 0xffff) != t.self().value;
  }
  bool is_decided(const State& t) const noexcept {
    if (!undecided(t)) return false;
    const std::uint64_t ballot = t.mine(&Row::copied).ballot;
    return all_that_live(
        t, [&](MemberId member) { return t.get(member, &Row::copied).ballot == ballot; });
  }
  bool may_propose(const State& t) const noexcept {
    const std::uint64_t number = t.mine(&Row::copied).number;
    return leads() && all_that_live(t, [&](MemberId member) {
             return t.get(member, &Row::decided) == number;
           });
  }
  void propose_at(State& t, const T& value) {
    std::uint64_t round = 0;
    for (std::uint16_t i = 0; i < t.size(); ++i) {
      const std::uint64_t seen = t.get({i}, &Row::copied).ballot >> 16;
      round = seen > round ? seen : round;
    }
    t.set(&Row::copied,
          Proposal{(round + 1) << 16 | t.self().value, t.mine(&Row::decided) + 1, value});
  }

  Decided decided_;
  std::optional<T> wish_;
  State table_;
};

}  // namespace sst
