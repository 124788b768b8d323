// SPDX-License-Identifier: MIT
// A hash that is the same in every process and program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace dtutils {

/// FNV-1a of 64 bits (Fowler, Noll and Vo). It tells things apart that differ by accident, and is
/// no protection against somebody who wants two of them to be equal. Any thread, wait-free.
class Fnv1a {
 public:
  /// Where the hash of nothing is.
  static constexpr std::uint64_t kBasis = 0xcbf29ce484222325;

  /// Goes on from `basis`: from the value() of what came before.
  constexpr explicit Fnv1a(std::uint64_t basis = kBasis) noexcept : value_(basis) {}

  /// One step for a whole number, and not one for each of its bytes. Its upper bits reach no lower
  /// bits of the value: for small numbers.
  constexpr Fnv1a& number(std::uint64_t number) noexcept {
    value_ = (value_ ^ number) * 0x100000001b3;
    return *this;
  }
  /// Byte by byte, without a length: "a" and "b" are as "ab".
  constexpr Fnv1a& text(std::string_view text) noexcept {
    for (const char c : text) number(static_cast<unsigned char>(c));
    return *this;
  }
  /// See text().
  constexpr Fnv1a& bytes(std::span<const std::byte> bytes) noexcept {
    for (const std::byte byte : bytes) number(std::to_integer<std::uint64_t>(byte));
    return *this;
  }

  /// Of all so far.
  constexpr std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_;
};

}  // namespace dtutils
