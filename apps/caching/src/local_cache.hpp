// SPDX-License-Identifier: MIT
// The documents in the memory of this process: index, memory, holders, replacement.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "arena.hpp"
#include "caching/options.hpp"
#include "entry.hpp"
#include "replacer.hpp"
#include "spares.hpp"

namespace caching::detail {

/// A document's name, and the hashes of it.
struct Name {
  std::string_view key;
  std::string_view variant;
  std::uint64_t key_hash;
  std::uint64_t hash;
};
Name name_of(std::string_view key, std::string_view variant) noexcept;

/// Listings of what has left, to be taken out of the directory.
struct Left {
  static constexpr std::size_t kMost = 32;
  std::array<Listing, kMost> listings;
  std::size_t count = 0;
};

/// Any thread: each function takes the lock, for the time of some steps in memory, where nothing
/// else is said. Entries are held (pinned) by who took or reserved them, until unpin(); held memory
/// is not used for anything else. Functions that make documents leave stop when `left` is full:
/// call again.
///
/// What passes through has a part of the memory of its own, in which no word of the directory
/// leads. From there most blocks are taken and given back without the lock, as spares.
class LocalCache {
 public:
  /// `blocks` is memory for `units` units of documents and `passing` more behind them.
  LocalCache(std::byte* blocks, std::uint32_t units, std::uint32_t passing, std::uint8_t* touched,
             const CacheOptions& options);

  /// Holds the shown document of that name; kNoEntry when there is none. Without the lock where no
  /// document has a hash like that.
  std::uint32_t take(const Name& name) noexcept;
  /// A block for a document; held, loose. kNoEntry when there is no memory for that use, or `left`
  /// is full (left.count == Left::kMost).
  std::uint32_t reserve(std::uint64_t units, Use use, Left& left) noexcept;
  /// The same for what passes through, when there is a spare of that size. Wait-free.
  std::uint32_t reserve_spare(std::uint64_t units) noexcept {
    return spares_.take(code_of_units(units));
  }
  /// Lets the document that was written into the block be found by drop_key().
  void insert(std::uint32_t entry, const Name& name) noexcept;
  /// Lets neighbours read it, by that number (wire.hpp). False when it was dropped meanwhile.
  bool begin(std::uint32_t entry, std::uint64_t number) noexcept;
  /// Lets it be found by all, in the place of the one of that name from before, which leaves. False
  /// when it was dropped meanwhile.
  bool show(std::uint32_t entry, const Name& name, Left& left) noexcept;
  /// The directory has it there. False when it was dropped meanwhile.
  bool list(std::uint32_t entry, const Listing& listing) noexcept;
  /// Takes one document, held by the caller, out.
  void drop(std::uint32_t entry, Left& left) noexcept;
  /// Takes the document of that name out.
  void drop_name(const Name& name, Left& left) noexcept;
  /// Takes all documents with keys of that hash out. False when `left` is full.
  bool drop_key(std::uint64_t key_hash, Left& left) noexcept;
  /// Takes documents out, from an entry on; returns where to go on, or kNoEntry.
  std::uint32_t drop_from(std::uint32_t from, Left& left) noexcept;
  /// Without the lock for a block that becomes a spare.
  void unpin(std::uint32_t entry) noexcept;

  /// Holds the shown document with the lowest number from `from` on whose directory word is at
  /// `home`; kNoEntry: there is none.
  std::uint32_t take_listed_at(std::uint16_t home, std::uint32_t from) noexcept;

  /// Of a held entry, whose block does not change. Wait-free.
  std::byte* block(std::uint32_t entry) const noexcept { return at(entries_[entry].block); }
  /// The block of a held entry is where nobody else looks for documents. Wait-free.
  bool passes(std::uint32_t entry) const noexcept { return passing_.holds(entries_[entry].block); }
  std::byte* at(std::uint32_t block) const noexcept { return blocks_ + block * kUnit; }
  /// What a held entry is: it does not change.
  Entry entry(std::uint32_t number) const noexcept;
  std::uint64_t documents() const noexcept;
  std::uint64_t bytes() const noexcept;
  std::uint64_t evicted() const noexcept;
  std::uint64_t capacity() const noexcept { return main_.units(); }
  /// For tests.
  bool invariant() const;

 private:
  Replacer& replacer_of(const Entry& entry) noexcept {
    return entry.use == Use::kCopy ? copies_ : documents_;
  }
  Arena& arena_of(std::uint32_t block) noexcept { return main_.holds(block) ? main_ : passing_; }
  bool is_named(const Entry& entry, const Name& name) const noexcept;
  void leave_name(const Name& name, Left& left) noexcept;
  /// From the index and the lists; its memory is free when nobody holds it.
  void leave(std::uint32_t entry, Left& left) noexcept;
  void free_if_unused(std::uint32_t entry) noexcept;
  /// Gives the memory of all spares back; false when there are none.
  bool free_spares() noexcept;
  std::uint32_t& row_of(std::uint64_t key_hash) noexcept {
    return index_[key_hash & (index_.size() - 1)];
  }

  mutable std::mutex mutex_;
  std::byte* blocks_;
  Arena main_;
  Arena passing_;
  std::vector<Entry> entries_;
  std::uint32_t unused_ = kNoEntry;
  std::vector<std::uint32_t> index_;
  Spares spares_;
  Replacer documents_;
  Replacer copies_;
  std::uint64_t count_ = 0;
  std::uint64_t evicted_ = 0;
};

}  // namespace caching::detail
