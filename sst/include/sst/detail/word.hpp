// SPDX-License-Identifier: MIT
// The one way to read and write fields of rows, which devices and other threads write meanwhile.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dtutils/wait.hpp"
#include "sst/row.hpp"

namespace sst::detail {

template <std::size_t Size>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using Type [[gnu::may_alias]] = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
  using Type [[gnu::may_alias]] = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using Type [[gnu::may_alias]] = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using Type [[gnu::may_alias]] = std::uint64_t;
};

/// What reading a field gives: its own type, or what a Versioned holds.
template <class F>
struct ValueOf {
  using Type = F;
};
template <class T>
struct ValueOf<Versioned<T>> {
  using Type = T;
};
template <class F>
using Value = typename ValueOf<std::remove_const_t<F>>::Type;

/// Acquire: a thread that sees a pushed value also sees what its writer pushed before. It pairs
/// with the device's placement of the word (as dtutils::load_device_word), or with store_field. Any
/// thread, wait-free (Versioned: lock-free).
template <class F>
Value<F> load_field(const F& field) noexcept {
  if constexpr (IsVersioned<std::remove_const_t<F>>::value) {
    return field.load();
  } else {
    using Word = typename UnsignedOf<sizeof(F)>::Type;
    const Word word = __atomic_load_n(reinterpret_cast<const Word*>(&field), __ATOMIC_ACQUIRE);
    return std::bit_cast<F>(word);
  }
}

/// Release: pairs with load_field on another thread of this process. The owner's thread.
template <class F>
void store_field(F& field, const Value<F>& value) noexcept {
  if constexpr (IsVersioned<F>::value) {
    field.store(value);
  } else {
    using Word = typename UnsignedOf<sizeof(F)>::Type;
    __atomic_store_n(reinterpret_cast<Word*>(&field), std::bit_cast<Word>(value), __ATOMIC_RELEASE);
  }
}

/// Copies a field, or all elements of an array, each whole, from memory that changes meanwhile. A
/// Versioned that cannot be read at this moment keeps its value in `to`, and the result is false.
/// The owner of `to`.
template <class F>
bool copy_field(F& to, const F& from) noexcept {
  if constexpr (IsVersioned<F>::value) {
    return to.copy_if_newer(from);
  } else if constexpr (std::is_same_v<Element<F>, F>) {
    store_field(to, load_field(from));
    return true;
  } else {
    bool all = true;
    for (std::size_t i = 0; i < std::size(from); ++i) all = copy_field(to[i], from[i]) && all;
    return all;
  }
}
/// All fields of a row.
template <class Row>
bool copy_row(Row& to, const Row& from) noexcept {
  const auto targets = fields_of(to);
  const auto sources = fields_of(from);
  bool all = true;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((all = copy_field(std::get<I>(targets), std::get<I>(sources)) && all), ...);
  }(std::make_index_sequence<kFields<Row>>());
  return all;
}
/// The same, until everything was read.
template <class Row>
void copy_whole_row(Row& to, const Row& from) noexcept {
  while (!copy_row(to, from)) dtutils::cpu_pause();
}

/// Brings `pushed`, a row as the other members have it, up to this member's row, which changes
/// meanwhile: each Versioned as the next write into theirs. The thread that pushes.
template <class F>
void store_pushed(F& pushed, const F& own) noexcept {
  if constexpr (std::is_same_v<Element<F>, F>) {
    store_field(pushed, load_field(own));
  } else {
    for (std::size_t i = 0; i < std::size(own); ++i) store_pushed(pushed[i], own[i]);
  }
}
template <class Row>
void store_pushed_row(Row& pushed, const Row& own) noexcept {
  const auto targets = fields_of(pushed);
  const auto sources = fields_of(own);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (store_pushed(std::get<I>(targets), std::get<I>(sources)), ...);
  }(std::make_index_sequence<kFields<Row>>());
}

}  // namespace sst::detail
