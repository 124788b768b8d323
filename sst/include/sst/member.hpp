// SPDX-License-Identifier: MIT
// Names of rows, and sets of processes: small values, ready to lie in a row.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "dsfabric/ids.hpp"
#include "sst/limits.hpp"

namespace sst {

/// A row of a table, which is one member's: its place in the list of members, from 0.
struct MemberId {
  std::uint16_t value = 0;
  friend auto operator<=>(const MemberId&, const MemberId&) = default;
};

/// A set of the processes 0 to kMaxMembers - 1. Trivially copyable. Owner thread only.
class MemberSet {
 public:
  constexpr MemberSet() noexcept = default;
  explicit MemberSet(const std::vector<dsfabric::ProcessId>& processes) noexcept {
    for (const dsfabric::ProcessId process : processes) add(process);
  }

  void add(dsfabric::ProcessId process) noexcept { word(process) |= bit(process); }
  void remove(dsfabric::ProcessId process) noexcept { word(process) &= ~bit(process); }
  bool contains(dsfabric::ProcessId process) const noexcept {
    return process.value < kMaxMembers && (words_[process.value / 64] & bit(process)) != 0;
  }
  std::size_t size() const noexcept {
    std::size_t bits = 0;
    for (const std::uint64_t each : words_) bits += static_cast<std::size_t>(std::popcount(each));
    return bits;
  }
  /// In ascending order.
  std::vector<dsfabric::ProcessId> processes() const {
    std::vector<dsfabric::ProcessId> all;
    for (std::uint16_t i = 0; i < kMaxMembers; ++i) {
      if (contains({i})) all.push_back({i});
    }
    return all;
  }
  friend bool operator==(const MemberSet&, const MemberSet&) = default;

 private:
  static std::uint64_t bit(dsfabric::ProcessId process) noexcept {
    return std::uint64_t{1} << process.value % 64;
  }
  std::uint64_t& word(dsfabric::ProcessId process) noexcept { return words_[process.value / 64]; }

  std::array<std::uint64_t, kMaxMembers / 64> words_{};
};

static_assert(std::is_trivially_copyable_v<MemberSet> && std::is_standard_layout_v<MemberSet>);
static_assert(sizeof(MemberSet) == 32);

}  // namespace sst
