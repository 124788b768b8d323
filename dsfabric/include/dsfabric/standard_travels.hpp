// SPDX-License-Identifier: MIT
// How plain data and types of the standard library travel. Included by travels.hpp, at its end.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsfabric/detail/object_bytes.hpp"
#include "dsfabric/travels.hpp"

namespace dsfabric {

/// Plain data travels as its bytes.
template <PlainData T>
struct Travels<T> {
  /// Packs a value.
  static void pack(Packer& out, const T& value) noexcept {
    out.bytes(detail::ObjectBytes<T>(value).data(), sizeof value);
  }
  /// Gives the value back; throws CorruptBytes where the bytes are no such value.
  static T unpack(Unpacker& in) {
    std::array<std::byte, sizeof(T)> bytes;
    std::memcpy(bytes.data(), in.bytes(sizeof(T)), sizeof(T));
    return std::bit_cast<T>(bytes);
  }
};

/// A string travels as its length and its characters.
template <>
struct Travels<std::string> {
  /// Packs a value.
  static void pack(Packer& out, std::string_view value) noexcept {
    out.count(value.size());
    out.bytes(value.data(), value.size());
  }
  /// Gives the value back; throws CorruptBytes where the bytes are no such value.
  static std::string unpack(Unpacker& in) {
    const std::size_t size = in.count();
    return {reinterpret_cast<const char*>(in.bytes(size)), size};
  }
};

/// A vector travels as the number of its elements and the elements.
template <Travelling T>
struct Travels<std::vector<T>> {
  /// They lie in the vector as they travel.
  static constexpr bool kPlain = PlainData<T> && !std::is_same_v<T, bool>;
  /// There is nothing between their members.
  static constexpr bool kAsTheyAre =
      kPlain && (std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);

  /// Packs a value.
  static void pack(Packer& out, const std::vector<T>& value) {
    out.count(value.size());
    if constexpr (kAsTheyAre) {
      out.bytes(value.data(), value.size() * sizeof(T));
    } else {
      for (const auto& each : value) out(static_cast<const T&>(each));
    }
  }
  /// Gives the value back; throws CorruptBytes where the bytes are no such value.
  static std::vector<T> unpack(Unpacker& in) {
    std::vector<T> value;
    const std::size_t size = in.count(kPlain ? sizeof(T) : 1);
    if constexpr (kPlain && std::is_default_constructible_v<T>) {
      value.resize(size);
      const std::byte* const from = in.bytes(size * sizeof(T));
      if (size != 0) std::memcpy(static_cast<void*>(value.data()), from, size * sizeof(T));
    } else {
      for (std::size_t i = 0; i < size; ++i) value.push_back(in.value<T>());
    }
    return value;
  }
};

/// An optional travels as one byte and the value, if there is one.
template <Travelling T>
struct Travels<std::optional<T>> {
  /// Packs a value.
  static void pack(Packer& out, const std::optional<T>& value) {
    out(static_cast<std::uint8_t>(value.has_value()));
    if (value) out(*value);
  }
  /// Gives the value back; throws CorruptBytes where the bytes are no such value.
  static std::optional<T> unpack(Unpacker& in) {
    if (in.value<std::uint8_t>() == 0) return std::nullopt;
    return in.value<T>();
  }
};

/// An array of what is no plain data travels as its elements.
template <Travelling T, std::size_t kSize>
requires(!PlainData<T>)
struct Travels<std::array<T, kSize>> {
  /// Packs a value.
  static void pack(Packer& out, const std::array<T, kSize>& value) {
    for (const T& each : value) out(each);
  }
  /// Gives the value back; throws CorruptBytes where the bytes are no such value.
  static std::array<T, kSize> unpack(Unpacker& in) {
    return [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      return std::array<T, kSize>{((void)kIndex, in.value<T>())...};
    }(std::make_index_sequence<kSize>());
  }
};

/// A pair travels as its two values.
template <Travelling A, Travelling B>
struct Travels<std::pair<A, B>> {
  /// Packs a value.
  static void pack(Packer& out, const std::pair<A, B>& value) { out(value.first, value.second); }
  /// Gives the value back; throws CorruptBytes where the bytes are no such value.
  static std::pair<A, B> unpack(Unpacker& in) {
    // Braces: from left to right.
    return std::pair<A, B>{in.value<A>(), in.value<B>()};
  }
};

/// A tuple travels as its values.
template <Travelling... T>
struct Travels<std::tuple<T...>> {
  /// Packs a value.
  static void pack(Packer& out, const std::tuple<T...>& value) {
    std::apply([&](const T&... each) { out(each...); }, value);
  }
  /// Gives the value back; throws CorruptBytes where the bytes are no such value.
  static std::tuple<T...> unpack(Unpacker& in) { return std::tuple<T...>{in.value<T>()...}; }
};

}  // namespace dsfabric
