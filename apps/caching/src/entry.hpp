// SPDX-License-Identifier: MIT
// What a process remembers of a document in its memory.
#pragma once

#include <cstdint>

#include "wire.hpp"

namespace caching::detail {

inline constexpr std::uint32_t kNoEntry = ~0u;

/// Where the directory has a word for a document.
struct Listing {
  /// 0: it has none.
  Word word;
  std::uint16_t home = 0;
  /// Which of Bucket::words.
  std::uint16_t slot = 0;
  std::uint32_t bucket = 0;
};

/// What a block is for.
enum class Use : std::uint8_t {
  /// A document as any other.
  kDocument,
  /// A second copy, which makes room for all that are none.
  kCopy,
  /// In no list: it passes through, for one Document.
  kPass,
};

enum class State : std::uint8_t {
  kUnused,
  /// Being filled, passing through, or dropped: it ends when nobody holds it.
  kLoose,
  /// Found by drop() alone: nobody knows yet whether it was invalidated meanwhile.
  kHidden,
  kShown,
};

struct Entry {
  std::uint64_t name_hash = 0;
  std::uint64_t key_hash = 0;
  std::uint32_t block = 0;
  std::uint32_t units = 0;
  /// Documents and operations that hold it.
  std::uint32_t pins = 0;
  /// The next one of its row in the index.
  std::uint32_t chain = kNoEntry;
  // For Replacer.
  std::uint32_t newer = kNoEntry;
  std::uint32_t older = kNoEntry;
  std::uint8_t hits = 0;
  bool in_main = false;

  State state = State::kUnused;
  Use use = Use::kPass;
  Listing listing;
};

}  // namespace caching::detail
