// SPDX-License-Identifier: MIT
// Names of rows, and sets of them and of processes: small values, ready to lie in a row.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "dsfabric/ids.hpp"
#include "sst/table_limits.hpp"

namespace sst {

/// A row of a table, which is one member's: its place in the list of members, from 0.
struct MemberId {
  /// The place, from 0.
  std::uint16_t value = 0;
  friend auto operator<=>(const MemberId&, const MemberId&) = default;
};

/// A set of the ids 0 to kMaxMembers - 1. Trivially copyable. Owner thread only.
template <class Id>
class IdSet {
 public:
  constexpr IdSet() noexcept = default;
  /// The set of these ids. Each must be below kMaxMembers.
  explicit IdSet(const std::vector<Id>& ids) noexcept {
    for (const Id id : ids) add(id);
  }
  /// The first `count` ids.
  static IdSet first(std::size_t count) noexcept {
    IdSet set;
    for (std::uint16_t i = 0; i < count; ++i) set.add({i});
    return set;
  }

  /// Adds an id below kMaxMembers.
  void add(Id id) noexcept { word(id) |= bit(id); }
  /// Removes an id below kMaxMembers.
  void remove(Id id) noexcept { word(id) &= ~bit(id); }
  /// Whether the id is in the set; any id may be asked for.
  bool contains(Id id) const noexcept {
    return id.value < kMaxMembers && (words_[id.value / 64] & bit(id)) != 0;
  }
  /// Number of ids.
  std::size_t size() const noexcept {
    std::size_t bits = 0;
    for (const std::uint64_t each : words_) bits += static_cast<std::size_t>(std::popcount(each));
    return bits;
  }
  /// Whether there is no id.
  bool empty() const noexcept { return *this == IdSet(); }
  /// In ascending order.
  std::vector<Id> ids() const {
    std::vector<Id> all;
    for (std::uint16_t i = 0; i < kMaxMembers; ++i) {
      if (contains({i})) all.push_back({i});
    }
    return all;
  }
  /// Whether all of `other` are in this one.
  bool includes(const IdSet& other) const noexcept { return (other - *this).empty(); }
  friend IdSet operator&(IdSet a, const IdSet& b) noexcept {
    for (std::size_t i = 0; i < a.words_.size(); ++i) a.words_[i] &= b.words_[i];
    return a;
  }
  friend IdSet operator|(IdSet a, const IdSet& b) noexcept {
    for (std::size_t i = 0; i < a.words_.size(); ++i) a.words_[i] |= b.words_[i];
    return a;
  }
  /// What is in `a` and not in `b`.
  friend IdSet operator-(IdSet a, const IdSet& b) noexcept {
    for (std::size_t i = 0; i < a.words_.size(); ++i) a.words_[i] &= ~b.words_[i];
    return a;
  }
  friend bool operator==(const IdSet&, const IdSet&) = default;

 private:
  static std::uint64_t bit(Id id) noexcept { return std::uint64_t{1} << id.value % 64; }
  std::uint64_t& word(Id id) noexcept { return words_[id.value / 64]; }

  std::array<std::uint64_t, kMaxMembers / 64> words_{};
};

/// Rows of a table.
using RowSet = IdSet<MemberId>;
/// Processes of a job.
using MemberSet = IdSet<dsfabric::ProcessId>;

static_assert(std::is_trivially_copyable_v<MemberSet> && std::is_standard_layout_v<MemberSet>);
static_assert(sizeof(MemberSet) == 32 && sizeof(RowSet) == 32);

}  // namespace sst
