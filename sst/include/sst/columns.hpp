// SPDX-License-Identifier: MIT
// What predicates and triggers may ask a table, or a snapshot of one.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "sst/detail/word.hpp"
#include "sst/member.hpp"

namespace sst {

/// The questions, for a class that has `size()`, `self()` and `cells(MemberId)`, the memory of a
/// row. A field is named as `&Row::field`; an element of an array as `&Row::array, index`. Values
/// of one field are whole. Those of several fields may be of different moments; of one member they
/// never are a later push without an earlier one (Table states the rule). Rows of failed members
/// stay as they were and count like others.
///
/// Aggregates are monotonic where the fields are: if every value only grows, so do min, max and
/// sum, and `all` and `any` of a flag that is only ever set turn true once.
///
/// Any thread, wait-free (with Versioned fields: lock-free).
template <class Self, RowType Row>
class Columns {
 public:
  // --- one value ------------------------------------------------------------------------------
  /// The value of a field, or of an element of an array, in the row of a member.
  template <class F>
  requires(!std::is_array_v<F>)
  auto get(MemberId member, F Row::*field) const noexcept {
    return detail::load_field(cells(member).*field);
  }
  /// The value of an element of an array in the row of a member.
  template <class Array>
  auto get(MemberId member, Array Row::*array, std::size_t index) const noexcept {
    return detail::load_field((cells(member).*array)[index]);
  }
  /// The value in the row of this process.
  template <class F>
  auto mine(F Row::*field) const noexcept {
    return get(self().self(), field);
  }
  /// An element of an array in the row of this process.
  template <class Array>
  auto mine(Array Row::*array, std::size_t index) const noexcept {
    return get(self().self(), array, index);
  }

  // --- a column -------------------------------------------------------------------------------
  /// The least value over all rows, that of this process included. `at` is a field, or an array and
  /// an index.
  template <class... At>
  auto min(At... at) const noexcept {
    return fold([](auto a, auto b) { return b < a ? b : a; }, at...);
  }
  /// The largest value of a column, over all rows.
  template <class... At>
  auto max(At... at) const noexcept {
    return fold([](auto a, auto b) { return a < b ? b : a; }, at...);
  }
  /// In the type that `+` gives: 64 bits for integers.
  template <class... At>
  auto sum(At... at) const noexcept {
    using V = decltype(get(MemberId{}, at...));
    using Sum =
        std::conditional_t<std::is_floating_point_v<V>, V,
                           std::conditional_t<std::is_signed_v<V>, std::int64_t, std::uint64_t>>;
    Sum total{};
    for (std::uint16_t i = 0; i < rows(); ++i) total += static_cast<Sum>(get(MemberId{i}, at...));
    return total;
  }
  /// Whether every value, or at least one, is true (not zero).
  template <class... At>
  bool all(At... at) const noexcept {
    return all_of([](const auto& value) { return static_cast<bool>(value); }, at...);
  }
  /// Whether at least one value is true (not zero).
  template <class... At>
  bool any(At... at) const noexcept {
    return !all_of([](const auto& value) { return !static_cast<bool>(value); }, at...);
  }
  /// Whether `test` holds for every value.
  template <class Test, class... At>
  bool all_of(Test test, At... at) const noexcept {
    for (std::uint16_t i = 0; i < rows(); ++i) {
      if (!test(get(MemberId{i}, at...))) return false;
    }
    return true;
  }

  /// Number of rows.
  std::uint16_t rows() const noexcept { return static_cast<std::uint16_t>(self().size()); }

 private:
  const Self& self() const noexcept { return static_cast<const Self&>(*this); }
  const Row& cells(MemberId member) const noexcept { return self().cells(member); }

  template <class Combine, class... At>
  auto fold(Combine combine, At... at) const noexcept {
    auto result = get(MemberId{0}, at...);
    for (std::uint16_t i = 1; i < rows(); ++i) result = combine(result, get(MemberId{i}, at...));
    return result;
  }
};

}  // namespace sst
