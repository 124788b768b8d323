// SPDX-License-Identifier: MIT
// Wire format: the word that a process raises at its peers when it comes to a collective.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/participants.hpp"
#include "dsfabric/thread.hpp"

namespace dsfabric {

/// Which collective a worker is in: its kind, for one that gathers the bytes of a value, and for
/// one that has a root the rank of that worker. Two workers that meet in one collective must be in
/// the same.
struct CollectiveCall {
  Collective kind{};
  std::uint32_t bytes = 0;
  std::uint32_t root = 0;

  friend bool operator==(const CollectiveCall&, const CollectiveCall&) = default;
};

/// "Thread::broadcast() of 8 bytes from thread 1.0".
std::string describe(const CollectiveCall& call, const Participants& participants);

/// Throws the Error of two who are in different collectives.
[[noreturn]] void throw_mismatch(const Participants& participants, const std::string& one,
                                 const CollectiveCall& its, const std::string& other,
                                 const CollectiveCall& others);

/// The word of a barrier or of a round of gathering. There are two counts, of barriers and of
/// rounds of gathering; a word carries the one that it raises, and where the other one stood:
///
///     bit  63..60 | 59..40              | 39..24                 | 23..16          | 15..0
///          kind   | bytes (its low 20)  | root (its low 16 bits) | the other count | count
///
/// Counts wrap around; those of two processes are never further apart than two. 0: never written.
class CollectiveWord {
 public:
  constexpr explicit CollectiveWord(std::uint64_t word = 0) noexcept : word_(word) {}
  constexpr CollectiveWord(const CollectiveCall& call, std::uint64_t count,
                           std::uint64_t other) noexcept
      : word_(static_cast<std::uint64_t>(call.kind) << 60 |
              (std::uint64_t{call.bytes} & 0xf'ffff) << 40 |
              (std::uint64_t{call.root} & 0xffff) << 24 | (other & 0xff) << 16 | (count & 0xffff)) {
  }

  constexpr std::uint64_t bits() const noexcept { return word_; }
  constexpr CollectiveCall call() const noexcept {
    return {static_cast<Collective>(word_ >> 60),
            static_cast<std::uint32_t>(word_ >> 40) & 0xf'ffff,
            static_cast<std::uint32_t>(word_ >> 24) & 0xffff};
  }
  /// Whether the count is `count` or one that follows it.
  constexpr bool reached(std::uint64_t count) const noexcept {
    return word_ != 0 && ((word_ - count) & 0xffff) < 0x8000;
  }
  /// Whether the other count had come to `other` or to one that follows it.
  constexpr bool other_reached(std::uint64_t other) const noexcept {
    return (((word_ >> 16) - other) & 0xff) < 0x80;
  }
  constexpr bool is_for(const CollectiveCall& mine) const noexcept {
    return call() == CollectiveCall{mine.kind, mine.bytes & 0xf'ffff, mine.root & 0xffff};
  }

 private:
  std::uint64_t word_;
};

}  // namespace dsfabric
