// SPDX-License-Identifier: MIT
// What the compiler can be made to tell about the fields of a struct: how many, of what, and where.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sst/limits.hpp"

namespace sst::detail {

/// Converts to anything; only ever named in unevaluated code.
struct Anything {
  template <class T>
  constexpr operator T() const noexcept;  // NOLINT
};
template <std::size_t>
using AnythingAt = Anything;

// An array is initialised by as many values as it has elements (its braces may be left out), any
// other field by one.
template <class T, std::size_t... I>
consteval bool takes(std::index_sequence<I...>) {
  return requires { T{AnythingAt<I>{}...}; };
}
// `{}` stands for the field that begins at value `Before...`.
template <class T, std::size_t... Before, std::size_t... After>
consteval bool takes_around(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires { T{AnythingAt<Before>{}..., {}, AnythingAt<After>{}...}; };
}

// The largest number of values in [Low, High] that T takes; fewer are always taken.
template <class T, std::size_t Low, std::size_t High>
consteval std::size_t most_values() {
  if constexpr (Low == High) {
    return Low;
  } else {
    constexpr std::size_t kMiddle = (Low + High + 1) / 2;
    if constexpr (takes<T>(std::make_index_sequence<kMiddle>())) {
      return most_values<T, kMiddle, High>();
    } else {
      return most_values<T, Low, kMiddle - 1>();
    }
  }
}
template <class T, std::size_t At, std::size_t Low, std::size_t High>
consteval std::size_t most_after() {
  if constexpr (Low == High) {
    return Low;
  } else {
    constexpr std::size_t kMiddle = (Low + High + 1) / 2;
    if constexpr (takes_around<T>(std::make_index_sequence<At>(),
                                  std::make_index_sequence<kMiddle>())) {
      return most_after<T, At, kMiddle, High>();
    } else {
      return most_after<T, At, Low, kMiddle - 1>();
    }
  }
}
template <class T, std::size_t At, std::size_t Values>
consteval std::size_t fields_from() {
  if constexpr (At >= Values) {
    return 0;
  } else {
    constexpr std::size_t kAfter = most_after<T, At, 0, Values - At - 1>();
    return 1 + fields_from<T, Values - kAfter, Values>();
  }
}

/// The number of fields of an aggregate, an array being one.
template <class T>
inline constexpr std::size_t kFields = fields_from<T, 0, most_values<T, 0, sizeof(T)>()>();

/// References to all fields. A case for each number of fields: C++20 has no reflection.
template <class T>
constexpr auto fields_of(T& row) noexcept {
  constexpr std::size_t n = kFields<std::remove_const_t<T>>;
  static_assert(n <= kMaxFields, "cariama: a row has at most 16 fields; put like ones in an array");
  if constexpr (n == 0) {
    return std::tuple<>();
  } else if constexpr (n == 1) {
    auto& [a] = row;
    return std::tie(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = row;
    return std::tie(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = row;
    return std::tie(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = row;
    return std::tie(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = row;
    return std::tie(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = row;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = row;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = row;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = row;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = row;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = row;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (n == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = row;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (n == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = row;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (n == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o] = row;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o);
  } else if constexpr (n == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p] = row;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q] = row;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q);
  }
}

/// The type of field I, arrays included.
template <class T, std::size_t I>
using Field =
    std::remove_reference_t<std::tuple_element_t<I, decltype(fields_of(std::declval<T&>()))>>;

/// What an array, of whatever depth, consists of; other types are their own element.
template <class F>
struct ElementOf {
  using Type = F;
};
template <class F, std::size_t N>
struct ElementOf<F[N]> : ElementOf<F> {};
template <class F, std::size_t N>
struct ElementOf<std::array<F, N>> : ElementOf<F> {};
template <class F>
using Element = typename ElementOf<F>::Type;

template <class F>
consteval unsigned first_byte(const F& field) {
  return std::bit_cast<std::array<unsigned char, sizeof(F)>>(field)[0];
}
template <class F, std::size_t N>
consteval unsigned first_byte(const F (&field)[N]) {
  return first_byte(field[0]);
}

// One bit of the offset of every field: byte k of the struct holds that bit of k.
template <class T, std::size_t... I>
consteval std::array<std::size_t, sizeof...(I)> offset_bits(unsigned bit,
                                                            std::index_sequence<I...>) {
  std::array<unsigned char, sizeof(T)> bytes{};
  for (std::size_t k = 0; k < sizeof(T); ++k) bytes[k] = (k >> bit) & 1;
  const T pattern = std::bit_cast<T>(bytes);
  const auto fields = fields_of(pattern);
  return {std::size_t{first_byte(std::get<I>(fields))} << bit...};
}

/// Where each field begins, in bytes.
template <class T>
consteval auto offsets() {
  constexpr auto kAll = std::make_index_sequence<kFields<T>>();
  std::array<std::size_t, kFields<T>> sums{};
  for (unsigned bit = 0; std::size_t{1} << bit <= sizeof(T); ++bit) {
    const auto bits = offset_bits<T>(bit, kAll);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += bits[i];
  }
  return sums;
}

/// An object that is never defined, so that a pointer to its field can be a template argument: the
/// compiler then prints the field's name in its messages.
template <class T>
struct Nowhere {
  T row;
};
template <class T>
extern const Nowhere<T> kNowhere;
template <class T, std::size_t I>
consteval auto field_address() {
  return &std::get<I>(fields_of(kNowhere<T>.row));
}

}  // namespace sst::detail
