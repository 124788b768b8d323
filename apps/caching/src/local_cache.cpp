// SPDX-License-Identifier: MIT
// LocalCache: what comes, what leaves, and the order of the two.
#include "local_cache.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "block.hpp"
#include "checksum.hpp"

namespace caching::detail {
namespace {

/// Units of a document, for the sizes of tables.
constexpr std::uint64_t kUnitsEach = 16;
/// Documents at the most.
constexpr std::uint64_t kEntriesMost = std::uint64_t{1} << 22;

}  // namespace

Name name_of(std::string_view key, std::string_view variant) noexcept {
  const std::uint64_t key_hash = name_sum(key.data(), key.size());
  if (variant.empty()) return {key, variant, key_hash, key_hash};
  return {key, variant, key_hash, name_sum(variant.data(), variant.size(), key_hash)};
}

LocalCache::LocalCache(std::byte* blocks, std::uint32_t units, std::uint32_t passing,
                       std::uint8_t* touched, const CacheOptions& options)
    : blocks_(blocks),
      main_(0, units),
      passing_(units, passing),
      entries_(std::min<std::uint64_t>(std::uint64_t{units} + passing, kEntriesMost)),
      index_(std::bit_ceil(std::max<std::uint64_t>(64, units / kUnitsEach)), kNoEntry),
      documents_(options.replacement, entries_, touched, units),
      copies_(options.replacement, entries_, touched, units) {
  for (auto number = static_cast<std::uint32_t>(entries_.size()); number-- > 0;) {
    entries_[number].chain = unused_;
    unused_ = number;
  }
}

Entry LocalCache::entry(std::uint32_t number) const noexcept {
  const std::scoped_lock lock(mutex_);
  return entries_[number];
}

bool LocalCache::is_named(const Entry& entry, const Name& name) const noexcept {
  if (entry.name_hash != name.hash || entry.key_hash != name.key_hash) return false;
  const Block document(at(entry.block));
  return document.key() == name.key && document.variant() == name.variant;
}

std::uint32_t LocalCache::take(const Name& name) noexcept {
  // Acquire: nothing that follows is older than what was seen here.
  if (std::atomic_ref(row_of(name.key_hash)).load(std::memory_order_acquire) == kNoEntry) {
    return kNoEntry;
  }
  const std::scoped_lock lock(mutex_);
  for (std::uint32_t number = row_of(name.key_hash); number != kNoEntry;
       number = entries_[number].chain) {
    Entry& entry = entries_[number];
    if (entry.state == State::kShown && is_named(entry, name)) {
      ++entry.pins;
      replacer_of(entry).hit(number);
      return number;
    }
  }
  return kNoEntry;
}

std::uint32_t LocalCache::reserve(std::uint64_t units, Use use, Left& left) noexcept {
  if (units > std::max(main_.units(), passing_.units())) return kNoEntry;
  const std::scoped_lock lock(mutex_);
  if (unused_ == kNoEntry && !free_spares()) return kNoEntry;
  std::optional<std::uint32_t> block;
  const auto size = static_cast<std::uint32_t>(units);
  if (use == Use::kPass) {
    block = passing_.take(size);
    if (!block && free_spares()) block = passing_.take(size);
  }
  if (!block && units <= main_.units()) block = main_.take(size);
  // What passes through makes documents leave only when there is no other place for it.
  if (!block && use == Use::kPass && units <= passing_.units() / 2) return kNoEntry;
  while (!block) {
    // Copies first; and nothing but copies leaves for a copy.
    std::uint32_t victim = copies_.victim();
    if (victim == kNoEntry && use != Use::kCopy) victim = documents_.victim();
    if (victim == kNoEntry || units > main_.units() || left.count == Left::kMost) return kNoEntry;
    ++evicted_;
    leave(victim, left);
    block = main_.take(size);
  }
  const std::uint32_t number = unused_;
  Entry& entry = entries_[number];
  unused_ = entry.chain;
  entry = Entry{};
  entry.block = *block;
  entry.units = size;
  entry.pins = 1;
  entry.use = use;
  entry.state = State::kLoose;
  // Nobody who reads this block from now on finds a document in it.
  Block(at(*block)).clear_front();
  return number;
}

void LocalCache::insert(std::uint32_t number, const Name& name) noexcept {
  const std::scoped_lock lock(mutex_);
  std::uint32_t& row = row_of(name.key_hash);
  Entry& entry = entries_[number];
  entry.key_hash = name.key_hash;
  entry.name_hash = name.hash;
  entry.state = State::kHidden;
  entry.chain = row;
  std::atomic_ref(row).store(number, std::memory_order_release);
  replacer_of(entry).insert(number);
  ++count_;
}

bool LocalCache::begin(std::uint32_t number, std::uint64_t stamp) noexcept {
  const std::scoped_lock lock(mutex_);
  const Entry& entry = entries_[number];
  if (entry.state != State::kHidden) return false;
  Block(at(entry.block)).begin(stamp, number);
  return true;
}

bool LocalCache::show(std::uint32_t number, const Name& name, Left& left) noexcept {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_[number];
  if (entry.state != State::kHidden) return false;
  leave_name(name, left);
  entry.state = State::kShown;
  return true;
}

bool LocalCache::list(std::uint32_t number, const Listing& listing) noexcept {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_[number];
  if (entry.state == State::kLoose) return false;
  entry.listing = listing;
  return true;
}

void LocalCache::leave(std::uint32_t number, Left& left) noexcept {
  Entry& entry = entries_[number];
  std::uint32_t* link = &row_of(entry.key_hash);
  while (*link != number) link = &entries_[*link].chain;
  std::atomic_ref(*link).store(entry.chain, std::memory_order_release);
  replacer_of(entry).remove(number);
  --count_;
  // Before its memory, or a part of it, is used for anything else.
  Block(at(entry.block)).end();
  if (entry.listing.word && left.count < Left::kMost) left.listings[left.count++] = entry.listing;
  entry.state = State::kLoose;
  free_if_unused(number);
}

void LocalCache::free_if_unused(std::uint32_t number) noexcept {
  Entry& entry = entries_[number];
  if (entry.pins != 0 || entry.state != State::kLoose) return;
  arena_of(entry.block).give_back(entry.block);
  entry.state = State::kUnused;
  entry.chain = unused_;
  unused_ = number;
}

bool LocalCache::free_spares() noexcept {
  bool any = false;
  for (std::uint32_t code = 0; code < Spares::kCodes; ++code) {
    const std::uint32_t number = spares_.take(code);
    if (number == kNoEntry) continue;
    entries_[number].pins = 0;
    free_if_unused(number);
    any = true;
  }
  return any;
}

void LocalCache::drop(std::uint32_t number, Left& left) noexcept {
  const std::scoped_lock lock(mutex_);
  if (entries_[number].state != State::kLoose) leave(number, left);
}

bool LocalCache::drop_key(std::uint64_t key_hash, Left& left) noexcept {
  const std::scoped_lock lock(mutex_);
  for (std::uint32_t number = row_of(key_hash); number != kNoEntry;) {
    if (left.count == Left::kMost) return false;
    const std::uint32_t next = entries_[number].chain;
    if (entries_[number].key_hash == key_hash) leave(number, left);
    number = next;
  }
  return true;
}

std::uint32_t LocalCache::drop_from(std::uint32_t from, Left& left) noexcept {
  const std::scoped_lock lock(mutex_);
  for (std::uint32_t number = from; number < entries_.size(); ++number) {
    const State state = entries_[number].state;
    if (state != State::kHidden && state != State::kShown) continue;
    if (left.count == Left::kMost) return number;
    leave(number, left);
  }
  return kNoEntry;
}

void LocalCache::drop_name(const Name& name, Left& left) noexcept {
  const std::scoped_lock lock(mutex_);
  leave_name(name, left);
}

void LocalCache::leave_name(const Name& name, Left& left) noexcept {
  for (std::uint32_t number = row_of(name.key_hash); number != kNoEntry;
       number = entries_[number].chain) {
    const Entry& entry = entries_[number];
    if (entry.state == State::kShown && is_named(entry, name)) return leave(number, left);
  }
}

void LocalCache::unpin(std::uint32_t number) noexcept {
  // Such an entry has one holder, who gives the spare all that it needs: the block, and its pin.
  if (passes(number) && spares_.give(code_of_units(entries_[number].units), number)) return;
  const std::scoped_lock lock(mutex_);
  --entries_[number].pins;
  free_if_unused(number);
}

std::uint32_t LocalCache::take_listed_at(std::uint16_t home, std::uint32_t from) noexcept {
  const std::scoped_lock lock(mutex_);
  for (std::uint32_t number = from; number < entries_.size(); ++number) {
    Entry& entry = entries_[number];
    if (entry.state == State::kShown && entry.listing.word && entry.listing.home == home) {
      ++entry.pins;
      return number;
    }
  }
  return kNoEntry;
}

std::uint64_t LocalCache::documents() const noexcept {
  const std::scoped_lock lock(mutex_);
  return count_;
}

std::uint64_t LocalCache::bytes() const noexcept {
  const std::scoped_lock lock(mutex_);
  return (documents_.units() + copies_.units()) * kUnit;
}

std::uint64_t LocalCache::evicted() const noexcept {
  const std::scoped_lock lock(mutex_);
  return evicted_;
}

bool LocalCache::invariant() const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t found = 0;
  for (const std::uint32_t row : index_) {
    for (std::uint32_t number = row; number != kNoEntry; number = entries_[number].chain) ++found;
  }
  return found == count_ && main_.invariant() && passing_.invariant();
}

}  // namespace caching::detail
