// SPDX-License-Identifier: MIT
// Agreement through a table: all members decide the same values in the same order.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>

#include "dsfabric/detail/object_bytes.hpp"
#include "sst/detail/agreement_core.hpp"

namespace sst {

/// The leader proposes values; all members decide the same ones, in the same order, and no member
/// that takes part misses any. It is Paxos over the rows of a table; agreement_core.hpp has the
/// rules.
///
/// What is promised:
///  1. No two members ever decide different values under one number, no matter which members die,
///     are stopped and wake, or are taken for dead, and when. This includes members that died
///     meanwhile. (kSurvivors: as long as no living member is taken for dead.)
///  2. A value that is decided was proposed. Each member gets the decisions 1, 2, 3, ... without a
///     gap.
///  3. As long as a quorum of those that take part live, and know of deaths, what the leader
///     proposes is decided. A member that is slow, or stopped, but not taken for dead by the
///     leader, is waited for. Without a quorum nothing is decided, and `state` says so.
///  4. Members that failed, or whose Agreement was destroyed, are removed by a decision of a quorum
///     of those that took part before; from then on a quorum is one of the others. So a group of
///     five goes on with two, if they die one after the other, or with three, if two die at once.
///  5. What a removed process does counts no more: before anybody goes on, it has declared it as
///     failed to its fabric, and its connections are cut. If it lives it learns of that from
///     `state`: kRemoved, or kNoQuorum when it was cut off before it could be told.
///
/// The leader is the first member that takes part, is not known to be gone, and does not itself
/// say that too many others are. Two may take themselves for it at a time, which costs time and
/// breaks nothing.
///
/// Any number of members; each is at any time in one call of evaluate() at most (`hook`, as Table).
/// `T` is plain data of at most 32 bytes. The table is in the mode kWrites. Members evaluate as
/// long as the others decide; who has enough destroys it. Owner thread only: the evaluating one.
template <class T>
class Agreement {
  static_assert(std::is_trivially_copyable_v<T> &&
                    sizeof(T) <= sizeof(detail::AgreementCore::Value),
                "cariama: sst::Agreement<T> decides plain data of at most 32 bytes");

 public:
  /// Runs on the evaluating thread, once for each decision, in their order.
  using Decided = std::function<void(std::uint64_t number, const T& value)>;

  /// As Table, by all its members, with the same quorum.
  Agreement(TableGroup& group, TableOptions options, Decided decided,
            Quorum quorum = Quorum::kMajority)
      : core_(group, std::move(options), quorum,
              [decided = std::move(decided)](std::uint64_t number,
                                             const detail::AgreementCore::Value& bytes) {
                T value;
                std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
                decided(number, value);
              }) {}

  /// Wishes that `value` be decided next. Only the leader's wish is taken up, as soon as everything
  /// before is decided; a later wish replaces an earlier one that was not. It stays wished for
  /// until it is decided.
  void propose(const T& value) {
    detail::AgreementCore::Value bytes{};
    std::memcpy(bytes.data(), dsfabric::detail::ObjectBytes<T>(value).data(), sizeof value);
    core_.propose(bytes);
  }
  /// Takes back a wish that was not taken up.
  void withdraw() noexcept { core_.withdraw(); }
  /// This process takes itself for the leader now.
  bool leads() const noexcept { return core_.leads(); }
  /// Whether this process leads, and no decision is in progress.
  bool idle() const noexcept { return core_.idle(); }
  /// Whether this process can still decide; look at it where a decision is waited for.
  AgreementState state() const noexcept { return core_.state(); }
  /// Whether a further decision is known here that evaluate() has not followed yet. Until it has,
  /// kNoQuorum means nothing: the others may have ended because of it.
  bool behind() const noexcept { return core_.behind(); }
  /// The number of the last decision here.
  std::uint64_t decided() const noexcept { return core_.decided(); }
  /// Whether the process takes part, as decided so far.
  bool includes(dsfabric::ProcessId process) const noexcept { return core_.includes(process); }

  /// Makes progress: follows the rules once. True when something changed. Does not wait.
  bool evaluate() { return core_.evaluate(); }
  /// evaluate() as work of Thread::progress(): `self.add_hook(agreement.hook())`.
  dsfabric::ProgressHook hook() noexcept {
    return {[](void* core) { return static_cast<detail::AgreementCore*>(core)->evaluate(); },
            &core_};
  }
  /// The options of its table, with all members filled in.
  const TableOptions& options() const noexcept { return core_.options(); }

 private:
  detail::AgreementCore core_;
};

}  // namespace sst
