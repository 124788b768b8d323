// SPDX-License-Identifier: MIT
// Values that a table can compare: what compare_exchange and change() need.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace hashtable {

/// Values without padding: two of them are the same when their bytes are.
template <class Value>
concept ComparedByBytes = std::has_unique_object_representations_v<Value> ||
                          std::is_same_v<Value, float> || std::is_same_v<Value, double>;

/// The same of values that travel (dsfabric/travels.hpp): two of them are the same when their
/// Travels packs the same bytes. Specialize it, as true, for a type with a Travels of your own that
/// packs equal values alike.
template <class Value>
inline constexpr bool kPackedAlike = ComparedByBytes<Value>;
template <>
inline constexpr bool kPackedAlike<std::string> = true;
template <class T>
inline constexpr bool kPackedAlike<std::vector<T>> = kPackedAlike<T>;
template <class T>
inline constexpr bool kPackedAlike<std::optional<T>> = kPackedAlike<T>;
template <class T, std::size_t kSize>
inline constexpr bool kPackedAlike<std::array<T, kSize>> = kPackedAlike<T>;
template <class A, class B>
inline constexpr bool kPackedAlike<std::pair<A, B>> = kPackedAlike<A> && kPackedAlike<B>;
template <class... T>
inline constexpr bool kPackedAlike<std::tuple<T...>> = (kPackedAlike<T> && ...);

/// See kPackedAlike.
template <class Value>
concept ComparedAsPacked = kPackedAlike<Value>;

}  // namespace hashtable
