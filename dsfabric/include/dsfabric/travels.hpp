// SPDX-License-Identifier: MIT
// What can travel as an argument or a result of a remote call, and how it becomes bytes.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace dsfabric {

/// How values of type T become bytes and values again. Plain data, std::string, std::vector,
/// std::optional, std::array, std::pair and std::tuple of what travels have it. For a type of your
/// own specialize it:
///
///     template <>
///     struct dsfabric::Travels<Person> {
///       static void pack(Packer& out, const Person& person) { out(person.name, person.age); }
///       static Person unpack(Unpacker& in) {
///         auto name = in.value<std::string>();
///         return {std::move(name), in.value<int>()};
///       }
///     };
///
/// `pack` runs twice, to count the bytes and to write them, and must do the same both times;
/// `unpack` takes what `pack` gave, in the same order, and at least one byte.
template <class T>
struct Travels;

/// Takes the bytes of values that travel. Owner thread only.
class Packer {
 public:
  /// Writes from `to` on; nullptr: counts only.
  explicit Packer(std::byte* to) noexcept : to_(to) {}
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  /// Packs values one after the other.
  template <class... T>
  void operator()(const T&... values) {
    (Travels<T>::pack(*this, values), ...);
  }
  /// Takes bytes as they are.
  void bytes(const void* from, std::size_t count) noexcept {
    if (to_ != nullptr && count != 0) std::memcpy(to_ + size_, from, count);
    size_ += count;
  }
  /// The number of elements that follow. Whoever sends more than 32 bits can tell is refused before
  /// anything is written.
  void count(std::size_t elements) noexcept {
    const auto number = static_cast<std::uint32_t>(elements);
    bytes(&number, sizeof number);
  }
  /// Bytes so far.
  std::size_t size() const noexcept { return size_; }

 private:
  std::byte* to_;
  std::size_t size_ = 0;
};

/// Bytes that no Packer made. Unpacker throws it, and then the process that sent them is failed.
struct CorruptBytes : std::exception {
  /// The same for all.
  const char* what() const noexcept override { return "a length is larger than what arrived"; }
};

/// Gives values back from bytes that came from another process: each length is checked against what
/// is left before it is believed. Owner thread only.
class Unpacker {
 public:
  /// Reads `bytes`, which stay as they are meanwhile.
  explicit Unpacker(std::span<const std::byte> bytes) noexcept : left_(bytes) {}
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  /// The next value. Throws CorruptBytes when it is invalid.
  template <class T>
  T value() {
    return Travels<T>::unpack(*this);
  }
  /// The next `count` bytes, which lie there until the call ends. Throws CorruptBytes when there
  /// are fewer.
  const std::byte* bytes(std::size_t count) {
    if (count > left_.size()) throw CorruptBytes();
    const std::byte* const first = left_.data();
    left_ = left_.subspan(count);
    return first;
  }
  /// A number of elements, each of which takes `each` bytes at least.
  std::size_t count(std::size_t each = 1) {
    std::uint32_t number;
    std::memcpy(&number, bytes(sizeof number), sizeof number);
    if (number > left_.size() / each) throw CorruptBytes();
    return number;
  }
  /// Bytes that were not taken yet.
  std::size_t left() const noexcept { return left_.size(); }

 private:
  std::span<const std::byte> left_;
};

namespace detail {

/// What names memory of this process: pointers, and views of what somebody else keeps.
template <class T>
inline constexpr bool kNamesMemory =
    std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T>;
template <class T>
inline constexpr bool kNamesMemory<std::reference_wrapper<T>> = true;
template <class T, std::size_t kExtent>
inline constexpr bool kNamesMemory<std::span<T, kExtent>> = true;
template <class C>
inline constexpr bool kNamesMemory<std::basic_string_view<C>> = true;
template <class T>
inline constexpr bool kNamesMemory<std::optional<T>> = kNamesMemory<T>;
template <class T, std::size_t kSize>
inline constexpr bool kNamesMemory<std::array<T, kSize>> = kNamesMemory<T>;

}  // namespace detail

/// Data that means the same in another process as bytes. A pointer inside of a struct still passes,
/// as in a capture.
template <class T>
concept PlainData = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
                    !std::is_array_v<T> && !detail::kNamesMemory<T>;

/// Whether T has a way to travel.
template <class T>
concept Travelling = requires(Packer& out, Unpacker& in, const T& value) {
  Travels<T>::pack(out, value);
  { Travels<T>::unpack(in) } -> std::convertible_to<T>;
};

/// Bytes of a result that is no plain data, as its Travels packs it, at most.
inline constexpr std::size_t kMaxPackedResult = 4088;

}  // namespace dsfabric

#include "dsfabric/standard_travels.hpp"
