// SPDX-License-Identifier: MIT
// What the compiler can be made to tell about the fields of a struct: how many, of what, and where.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sst/table_limits.hpp"

namespace sst::detail {

// An array takes one pair of braces, as any other field does. A case for each number of fields:
// C++20 has no reflection.
template <class T, std::size_t N>
consteval bool takes_braces() {
  if constexpr (N == 1) {
    return requires { T{{}}; };
  } else if constexpr (N == 2) {
    return requires { T{{}, {}}; };
  } else if constexpr (N == 3) {
    return requires { T{{}, {}, {}}; };
  } else if constexpr (N == 4) {
    return requires { T{{}, {}, {}, {}}; };
  } else if constexpr (N == 5) {
    return requires { T{{}, {}, {}, {}, {}}; };
  } else if constexpr (N == 6) {
    return requires { T{{}, {}, {}, {}, {}, {}}; };
  } else if constexpr (N == 7) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}}; };
  } else if constexpr (N == 8) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}}; };
  } else if constexpr (N == 9) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  } else if constexpr (N == 10) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  } else if constexpr (N == 11) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  } else if constexpr (N == 12) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  } else if constexpr (N == 13) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  } else if constexpr (N == 14) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  } else if constexpr (N == 15) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  } else if constexpr (N == 16) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  } else if constexpr (N == 17) {
    return requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; };
  }
}

template <class T, std::size_t N = 0>
consteval std::size_t count_fields() {
  if constexpr (N <= kMaxFields) {
    if constexpr (takes_braces<T, N + 1>()) return count_fields<T, N + 1>();
  }
  return N;
}

/// The number of fields of an aggregate, an array being one; kMaxFields + 1 if it has more.
template <class T>
inline constexpr std::size_t kFields = count_fields<T>();

/// References to all fields.
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

/// A row of which only the addresses of its fields are ever used. It has no bytes, so that the
/// compiler does not have to make any up.
template <class T>
union Nowhere {
  char nothing = 0;
  T row;
  unsigned char bytes[sizeof(T)];
};
template <class T>
inline constexpr Nowhere<T> kNowhere{};

/// The first byte from `from` on that has the address of `field`.
template <class T>
constexpr std::size_t offset_of(const void* field, std::size_t from) noexcept {
  while (field != static_cast<const void*>(&kNowhere<T>.bytes[from])) ++from;
  return from;
}

/// Where each field begins, in bytes.
template <class T>
consteval auto offsets() {
  std::array<std::size_t, kFields<T>> all{};
  const auto fields = fields_of(kNowhere<T>.row);
  // Fields lie in their order, so that each is looked for behind the one before.
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::size_t end = 0;
    ((all[I] = offset_of<T>(&std::get<I>(fields), end), end = all[I] + sizeof(Field<T, I>)), ...);
  }(std::make_index_sequence<kFields<T>>());
  return all;
}

/// The address of a field, to be a template argument: the compiler then prints the field's name in
/// its messages. clang before 18 takes no such argument, and prints the field's number only.
template <class T, std::size_t I>
consteval auto field_address() {
#if !defined(__clang__) || __clang_major__ >= 18
  return &std::get<I>(fields_of(kNowhere<T>.row));
#else
  return nullptr;
#endif
}

}  // namespace sst::detail
