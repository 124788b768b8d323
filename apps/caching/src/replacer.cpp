// SPDX-License-Identifier: MIT
// Replacer: the lists, and what leaves them.
#include "replacer.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

namespace caching::detail {
namespace {

/// Rounds through the main list that a document can have in store.
constexpr std::uint8_t kMostHits = 3;
/// One of so many parts of the memory is the small list's.
constexpr std::uint64_t kSmallPart = 10;
/// Units of a document, for the number of hashes that are remembered.
constexpr std::uint64_t kUsualUnits = 32;

}  // namespace

Replacer::Replacer(Replacement policy, std::vector<Entry>& entries, std::uint8_t* touched,
                   std::uint64_t units)
    : policy_(policy),
      entries_(entries),
      touched_(touched),
      capacity_(units),
      ghosts_(policy == Replacement::kS3Fifo
                  ? std::bit_ceil(std::max<std::uint64_t>(64, units / kUsualUnits))
                  : 0) {}

void Replacer::push(List& list, std::uint32_t number) noexcept {
  Entry& entry = entries_[number];
  entry.newer = kNoEntry;
  entry.older = list.newest;
  (list.newest == kNoEntry ? list.oldest : entries_[list.newest].newer) = number;
  list.newest = number;
  list.units += entry.units;
  ++list.count;
}

void Replacer::unlink(List& list, std::uint32_t number) noexcept {
  const Entry& entry = entries_[number];
  (entry.newer == kNoEntry ? list.newest : entries_[entry.newer].older) = entry.older;
  (entry.older == kNoEntry ? list.oldest : entries_[entry.older].newer) = entry.newer;
  list.units -= entry.units;
  --list.count;
}

void Replacer::renew(List& list, std::uint32_t number) noexcept {
  unlink(list, number);
  push(list, number);
}

void Replacer::insert(std::uint32_t number) noexcept {
  Entry& entry = entries_[number];
  entry.hits = 0;
  entry.in_main = policy_ == Replacement::kLru || remembered(entry.name_hash);
  (void)take_touch(number);
  push(list_of(entry), number);
}

void Replacer::hit(std::uint32_t number) noexcept {
  Entry& entry = entries_[number];
  if (policy_ == Replacement::kLru) {
    renew(main_, number);
  } else if (entry.hits < kMostHits) {
    ++entry.hits;
  }
}

void Replacer::remove(std::uint32_t number) noexcept { unlink(list_of(entries_[number]), number); }

bool Replacer::take_touch(std::uint32_t number) noexcept {
  // Neighbours write it by RDMA: what is lost between the two is one hit.
  std::atomic_ref touch(touched_[number % kTouches]);
  if (touch.load(std::memory_order_relaxed) == 0) return false;
  touch.store(0, std::memory_order_relaxed);
  return true;
}

std::uint32_t Replacer::victim() noexcept {
  if (policy_ == Replacement::kLru) return oldest_unused();
  // Each step moves an entry for good, takes a hit from it, or passes over one that is held.
  const bool small_first = small_.units * kSmallPart > capacity_ || main_.count == 0;
  const std::uint32_t first = small_first ? leaves_small() : leaves_main();
  if (first != kNoEntry) return first;
  const std::uint32_t second = leaves_main();
  return second != kNoEntry ? second : leaves_small();
}

std::uint32_t Replacer::oldest_unused() noexcept {
  for (std::uint32_t left = main_.count; left > 0; --left) {
    const std::uint32_t number = main_.oldest;
    if (!take_touch(number) && entries_[number].pins == 0) return number;
    renew(main_, number);
  }
  // All were touched, or are held.
  for (std::uint32_t left = main_.count; left > 0; --left) {
    const std::uint32_t number = main_.oldest;
    if (entries_[number].pins == 0) return number;
    renew(main_, number);
  }
  return kNoEntry;
}

std::uint32_t Replacer::leaves_small() noexcept {
  for (std::uint32_t left = small_.count; left > 0; --left) {
    const std::uint32_t number = small_.oldest;
    Entry& entry = entries_[number];
    if (take_touch(number)) hit(number);
    if (entry.hits > 1) {
      unlink(small_, number);
      entry.in_main = true;
      entry.hits = 0;
      push(main_, number);
    } else if (entry.pins != 0) {
      renew(small_, number);
    } else {
      remember(entry.name_hash);
      return number;
    }
  }
  return kNoEntry;
}

std::uint32_t Replacer::leaves_main() noexcept {
  const std::uint32_t rounds = main_.count * (kMostHits + 1);
  for (std::uint32_t left = rounds; left > 0; --left) {
    const std::uint32_t number = main_.oldest;
    Entry& entry = entries_[number];
    if (take_touch(number)) hit(number);
    if (entry.hits == 0 && entry.pins == 0) return number;
    if (entry.hits != 0) --entry.hits;
    renew(main_, number);
  }
  return kNoEntry;
}

void Replacer::remember(std::uint64_t name_hash) noexcept {
  ghosts_[name_hash & (ghosts_.size() - 1)] = {name_hash, ++left_};
}

bool Replacer::remembered(std::uint64_t name_hash) noexcept {
  Ghost& ghost = ghosts_[name_hash & (ghosts_.size() - 1)];
  if (ghost.when == 0 || ghost.name_hash != name_hash) return false;
  // As many as the main list has documents, as in the paper.
  const bool recent = left_ - ghost.when < std::max(main_.count, 16u);
  ghost.when = 0;
  return recent;
}

}  // namespace caching::detail
