// SPDX-License-Identifier: MIT
// What may be a row, and what the compiler says about the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "dtutils/fnv1a.hpp"
#include "sst/detail/fields.hpp"
#include "sst/table_limits.hpp"
#include "sst/versioned.hpp"

namespace sst {
namespace detail {

template <class F>
struct IsVersioned : std::false_type {};
template <class T>
struct IsVersioned<Versioned<T>> : std::true_type {};

/// Whether a field of the row, or an element of an array in it, is a Versioned.
template <class Row, std::size_t... I>
consteval bool has_versioned(std::index_sequence<I...>) {
  return (IsVersioned<std::remove_const_t<Element<Field<Row, I>>>>::value || ...);
}

/// Read and written by one instruction, if it lies at a multiple of its size.
template <class F>
inline constexpr bool kIsWord =
    std::is_trivially_copyable_v<F> && !std::is_array_v<F> &&
    (sizeof(F) == 1 || sizeof(F) == 2 || sizeof(F) == 4 || sizeof(F) == 8);

/// Check one field each. A failing check names it: the compiler prints `Address` as
/// `(& kNowhere<Row>.Nowhere<Row>::row.Row::name)`.
template <class Row, std::size_t Index, auto Address>
struct CheckType {
  using E = std::remove_const_t<Element<Field<Row, Index>>>;
  static constexpr bool kPointer = std::is_pointer_v<E> || std::is_member_pointer_v<E>;
  static_assert(!kPointer,
                "cariama: this field of the row is a pointer, which means nothing in another "
                "process: use an index, or dsfabric::GlobalPtr");
  static constexpr bool kValue = !kPointer;
};
template <class Row, std::size_t Index, std::size_t Offset, auto Address>
struct CheckPlace {
  using E = std::remove_const_t<Element<Field<Row, Index>>>;
  static constexpr bool kCrosses = Offset / kLine != (Offset + sizeof(E) - 1) / kLine;
  static_assert(IsVersioned<E>::value || !kCrosses,
                "cariama: this field of the row crosses a cache line, so it would not arrive at "
                "once: move it, make it smaller, or wrap it in sst::Versioned<>");
  static_assert(IsVersioned<E>::value || kIsWord<E> || kCrosses,
                "cariama: this field of the row has no size of 1, 2, 4 or 8 bytes, so it could be "
                "read half written: wrap it in sst::Versioned<>, or make an array of its parts");
  static_assert(IsVersioned<E>::value || !kIsWord<E> || Offset % sizeof(E) == 0,
                "cariama: this field of the row does not lie at a multiple of its size, so it "
                "could be read half written: align it");
  static constexpr bool kValue = true;
};

template <class Row, std::size_t... I>
consteval bool check_fields(std::index_sequence<I...>) {
  if constexpr ((CheckType<Row, I, field_address<Row, I>()>::kValue && ...)) {
    constexpr auto kOffsets = offsets<Row>();
    return (CheckPlace<Row, I, kOffsets[I], field_address<Row, I>()>::kValue && ...);
  } else {
    return false;
  }
}

template <class Row>
consteval bool check_row() {
  static_assert(std::is_trivially_copyable_v<Row> && std::is_standard_layout_v<Row>,
                "cariama: a row must be plain data (trivially copyable, standard layout): no "
                "std::string, std::vector, virtual function or reference");
  static_assert(std::is_aggregate_v<Row>,
                "cariama: a row must be a plain struct: public fields, no constructor");
  static_assert(std::is_default_constructible_v<Row>,
                "cariama: each field of a row must have a value at first, as Row{} gives it one");
  static_assert(sizeof(Row) <= kMaxRow, "cariama: a row has at most 65536 bytes");
  if constexpr (std::is_trivially_copyable_v<Row> && std::is_aggregate_v<Row> &&
                std::is_default_constructible_v<Row>) {
    return check_fields<Row>(std::make_index_sequence<kFields<Row>>());
  } else {
    return false;
  }
}

/// Two rows of different shape have different digests in all likelihood, so that processes which do
/// not mean the same row are refused.
template <class Row, std::size_t... I>
consteval std::uint64_t digest(std::index_sequence<I...>) {
  dtutils::Fnv1a hash;
  hash.number(sizeof(Row));
  for (const std::size_t offset : offsets<Row>()) hash.number(offset);
  (hash.number(sizeof(Field<Row, I>)), ...);
  return hash.value();
}

}  // namespace detail

/// A row: a struct of plain fields, of which each can be written and read at once. A field is
///  - a value of 1, 2, 4 or 8 bytes (numbers, bool, enumerations, small ids) at a multiple of its
///    size, as compilers place them;
///  - a Versioned<T>, for anything else of up to 48 bytes;
///  - an array (also std::array, also of arrays) of these: each *element* then is a field by
///    itself, and nothing is promised about the array as a whole.
/// Everything else is refused when the table is compiled, and the message names the field. So what
/// is ever read from a table was once written as it is read.
template <class Row>
concept RowType = detail::check_row<Row>();

/// Bytes from row to row: the next multiple of a cache line, so that two owners never write the
/// same one.
template <class Row>
inline constexpr std::size_t kStride = (sizeof(Row) + kLine - 1) / kLine * kLine;

}  // namespace sst
