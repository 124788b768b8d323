// SPDX-License-Identifier: MIT
// Keys and values of any size as they lie in pieces, and operations on them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hashtable/options.hpp"

namespace hashtable::detail {

/// A key and its value as they lie in a piece, in words:
///
///     bytes of the key : 32, of the value : 32 | key | value
///
/// A piece has all keys of one hash, one record behind the other: the colliding ones too.
struct Record {
  /// The words of all.
  std::span<const std::uint64_t> words;

  /// The words that a run of bytes takes.
  static constexpr std::size_t words_of(std::size_t bytes) noexcept { return (bytes + 7) / 8; }
  /// Bytes of the key.
  std::size_t key_bytes() const noexcept { return words[0] & 0xffff'ffff; }
  /// Bytes of the value.
  std::size_t value_bytes() const noexcept { return words[0] >> 32; }
  /// The key.
  std::span<const std::byte> key() const noexcept {
    return std::as_bytes(words.subspan(1)).first(key_bytes());
  }
  /// The value.
  std::span<const std::byte> value() const noexcept {
    return std::as_bytes(words.subspan(1 + words_of(key_bytes()))).first(value_bytes());
  }
  /// Takes the first record away from those that are left, which are not none.
  static Record take(std::span<const std::uint64_t>& left) noexcept {
    const Record all{left};
    const std::size_t count = 1 + words_of(all.key_bytes()) + words_of(all.value_bytes());
    const Record first{left.first(count)};
    left = left.subspan(count);
    return first;
  }
  /// The record of a key in a piece; empty words when there is none.
  static Record find(std::span<const std::uint64_t> piece, std::span<const std::byte> key) noexcept;
};

/// What a slot says of a piece: its place, its words, and their check. Pieces with other bytes
/// differ in it.
using Piece = std::array<std::uint64_t, 3>;

/// One operation of a batch.
struct PackedItem {
  /// What is to be done.
  Operation operation = Operation::kFind;
  /// With a change: it takes place if the key lies in `piece` still, else the answer is kDiffers.
  bool checks = false;
  /// The answer.
  Status status = Status::kAgain;
  /// The bytes of the key.
  std::vector<std::byte> key;
  /// Those of the value to be written, or of the one that was found.
  std::vector<std::byte> value;
  /// Where it was found.
  Piece piece{};
};

/// One compare_exchange of a batch.
struct PackedExchange {
  /// The key, the answer, and the value that the key has after kDiffers.
  PackedItem item;
  /// The value that is expected.
  std::vector<std::byte> expected;
  /// The one to be written.
  std::vector<std::byte> desired;
};

}  // namespace hashtable::detail
