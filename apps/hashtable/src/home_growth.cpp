// SPDX-License-Identifier: MIT
// Home: splitting, rebuilding and chaining buckets.
#include "hashtable/detail/home.hpp"

namespace hashtable::detail {
namespace {

/// A directory doubles only while it has at most so many entries a bucket.
constexpr std::uint64_t kEntriesPerBucket = 4;

}  // namespace

std::vector<Home::Entry> Home::entries_of(const std::vector<BucketWord>& chain) const {
  std::vector<Entry> entries;
  for (const BucketWord block : chain) {
    const std::uint64_t* const words = word(block.index(), 0);
    for (std::uint32_t slot = 0; slot < shape_.slots; ++slot) {
      const SlotWord seen{load(words + shape_.word_at(slot))};
      if (seen.state() != SlotState::kLive) continue;
      Entry& entry = entries.emplace_back();
      for (std::uint32_t i = 0; i < shape_.key_words; ++i) {
        entry.words.push_back(load(words + shape_.key_at(slot) + i));
      }
      entry.hash = hash_of(entry.words.data(), shape_.key_words);
      for (std::uint32_t i = 0; i < shape_.value_words; ++i) {
        entry.words.push_back(load(words + shape_.cell_at(slot, seen.cell()) + 1 + i));
      }
    }
  }
  return entries;
}

BucketWord Home::build(std::uint64_t range, unsigned depth, const std::vector<Entry>& entries) {
  const BucketWord bucket = new_block(depth, range);
  for (const Entry& entry : entries) {
    if (entry.hash >> (64 - depth) != range >> (64 - depth)) continue;
    BucketWord block = bucket;
    for (std::uint32_t i = 0;; ++i) {
      if (i == shape_.slots) {
        std::uint64_t* const next = word(block.index(), 1);
        if (!BucketWord{load(next)}) {
          store(next, new_block(depth, range).held_by(block.life()).raw);
        }
        block = BucketWord{load(next)}.itself();
        i = 0;
      }
      const std::uint32_t slot = (first_slot(entry.hash, shape_.slots) + i) % shape_.slots;
      std::uint64_t* const words = word(block.index(), 0);
      if (SlotWord{load(words + shape_.word_at(slot))}.state() != SlotState::kEmpty) continue;
      const std::uint32_t version = block.birth() + 1;
      const std::uint64_t* const value = entry.words.data() + shape_.key_words;
      std::uint64_t* const cell = words + shape_.cell_at(slot, 1);
      store(cell,
            check_of(version, value, shape_.value_words, entry.words.data(), shape_.key_words));
      for (std::uint32_t j = 0; j < shape_.value_words; ++j) store(cell + 1 + j, value[j]);
      for (std::uint32_t j = 0; j < shape_.key_words; ++j) {
        store(words + shape_.key_at(slot) + j, entry.words[j]);
      }
      store(words + shape_.word_at(slot),
            SlotWord::make(SlotState::kLive, fingerprint_of(entry.hash), rank_, version, 1).raw);
      break;
    }
  }
  return bucket;
}

void Home::enter(std::uint64_t range, BucketWord bucket) noexcept {
  const DirectoryWord here = directory();
  const std::uint64_t first = range >> (64 - here.depth());
  const std::uint64_t count = std::uint64_t{1} << (here.depth() - bucket.depth());
  for (std::uint64_t i = first; i < first + count; ++i) {
    store(base_ + here.place() + i, bucket.raw);
  }
}

bool Home::double_directory() {
  const DirectoryWord here = directory();
  const std::uint64_t size = std::uint64_t{1} << here.depth();
  if (here.depth() >= kMaxDepth || size > kEntriesPerBucket * buckets_) return false;
  const auto place = heap_.take(2 * size);
  if (!place) return false;
  for (std::uint64_t i = 0; i < 2 * size; ++i) {
    store(base_ + *place + i, load(base_ + here.place() + i / 2));
  }
  store(base_, DirectoryWord::make(here.depth() + 1, *place).raw);
  heap_.give(here.place(), size);
  return true;
}

void Home::free_chain(const std::vector<BucketWord>& chain) {
  for (const BucketWord block : chain) {
    store(word(block.index(), 0), 0);
    heap_.give_block(block.index());
  }
}

Room Home::make_room(std::uint64_t hash, BucketWord bucket) {
  const std::scoped_lock lock(mutex_);
  if (bucket_of(hash) != bucket) return Room::kMade;
  const std::vector<BucketWord> chain = chain_of(bucket);
  std::uint32_t useless = 0;
  bool frozen = false;
  bool full = true;
  bool worn = false;
  for (const BucketWord block : chain) {
    for (std::uint32_t i = 0; i < shape_.slots; ++i) {
      const SlotWord seen{load(word(block.index(), shape_.word_at(i)))};
      useless += seen.state() == SlotState::kAbsent || seen.state() == SlotState::kDead;
      full = full && seen.state() != SlotState::kEmpty;
      frozen |= seen.frozen();
      worn |= seen.worn();
    }
  }
  if (!full && !frozen && !worn) return Room::kMade;
  const auto blocks = static_cast<std::uint32_t>(chain.size());
  const bool rebuild = worn || 4 * useless >= blocks * shape_.slots ||
                       (useless != 0 && options_.growth == Growth::kNone);
  bool split = !rebuild && options_.growth == Growth::kDouble && bucket.depth() < kMaxDepth &&
               heap_.blocks_left(blocks + 2) == blocks + 2;
  if (split && bucket.depth() == directory().depth()) {
    split = double_directory() && heap_.blocks_left(blocks + 2) == blocks + 2;
  }
  if (!split && !rebuild && !frozen) {
    if (options_.growth == Growth::kNone) return Room::kNone;
    const BucketWord more = new_block(bucket.depth(), load(word(bucket.index(), 2)));
    if (!more) return Room::kNone;
    store(word(chain.back().index(), 1), more.held_by(chain.back().life()).raw);
    return Room::kMade;
  }
  if (!split && heap_.blocks_left(blocks) < blocks) return Room::kNone;
  if (!freeze(chain)) return Room::kBusy;
  const std::uint64_t range = load(word(bucket.index(), 2));
  const std::vector<Entry> entries = entries_of(chain);
  if (split) {
    const unsigned depth = bucket.depth() + 1;
    const std::uint64_t upper = range | std::uint64_t{1} << (64 - depth);
    const BucketWord low = build(range, depth, entries);
    const BucketWord high = build(upper, depth, entries);
    enter(range, low);
    enter(upper, high);
    ++buckets_;
  } else {
    enter(range, build(range, bucket.depth(), entries));
  }
  free_chain(chain);
  return Room::kMade;
}

}  // namespace hashtable::detail
