// SPDX-License-Identifier: MIT
// S3-FIFO by bytes.
#include "proxy/local_store.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace proxy {
namespace {

/// Of all bytes, in the small queue.
constexpr std::size_t kSmallShare = 10;
/// Uses that are counted at most.
constexpr std::uint8_t kMaxUses = 3;
/// What an entry takes beside its bytes, about.
constexpr std::size_t kOverhead = 256;
/// Forgotten keys that are known, at least.
constexpr std::size_t kMinGhosts = 64;

std::size_t hash_of(std::string_view key) noexcept { return std::hash<std::string_view>{}(key); }

}  // namespace

LocalStore::LocalStore(std::size_t limit) : limit_(limit) {}

DocumentStore::Found LocalStore::find(std::string_view key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return {};
  Entry& entry = *found->second;
  if (entry.uses < kMaxUses) ++entry.uses;
  return {entry.document, Place::kHere};
}

void LocalStore::put(DocumentPtr document, Ticket) {
  const std::string_view key = document->key();
  const std::size_t bytes = document->bytes().size() + kOverhead;
  std::uint8_t uses = 0;
  bool in_main = false;
  if (const auto found = entries_.find(key); found != entries_.end()) {
    uses = found->second->uses;
    in_main = found->second->in_main;
    forget(found->second);
  }
  if (bytes > max_document()) return;
  in_main = in_main || remembered(hash_of(key));
  make_room(bytes);
  Queue& queue = in_main ? main_ : small_;
  queue.push_front({std::move(document), bytes, uses, in_main});
  (in_main ? main_bytes_ : small_bytes_) += bytes;
  entries_.emplace(queue.front().document->key(), queue.begin());
}

void LocalStore::erase(std::string_view key) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) forget(found->second);
}

DocumentStore::Figures LocalStore::figures() const noexcept {
  return {.documents = entries_.size(),
          .bytes = small_bytes_ + main_bytes_,
          .limit = limit_,
          .evictions = evictions_};
}

bool LocalStore::invariant() const noexcept {
  const auto sum = [](const Queue& queue) {
    std::size_t bytes = 0;
    for (const Entry& entry : queue) bytes += entry.bytes;
    return bytes;
  };
  return sum(small_) == small_bytes_ && sum(main_) == main_bytes_ &&
         small_bytes_ + main_bytes_ <= limit_ && small_.size() + main_.size() == entries_.size() &&
         ghosts_.size() == ghost_of_.size();
}

void LocalStore::make_room(std::size_t bytes) {
  while (small_bytes_ + main_bytes_ + bytes > limit_) {
    const bool small_is_full = small_bytes_ > limit_ / kSmallShare;
    if (!small_.empty() && (small_is_full || main_.empty())) {
      evict_from_small();
    } else {
      evict_from_main();
    }
  }
}

void LocalStore::evict_from_small() {
  const auto last = std::prev(small_.end());
  if (last->uses == 0) {
    remember(hash_of(last->document->key()));
    ++evictions_;
    return forget(last);
  }
  last->uses = 0;
  last->in_main = true;
  small_bytes_ -= last->bytes;
  main_bytes_ += last->bytes;
  main_.splice(main_.begin(), small_, last);
}

void LocalStore::evict_from_main() {
  const auto last = std::prev(main_.end());
  if (last->uses == 0) {
    ++evictions_;
    return forget(last);
  }
  --last->uses;
  main_.splice(main_.begin(), main_, last);
}

void LocalStore::remember(std::size_t hash) {
  if (ghost_of_.contains(hash)) return;
  ghosts_.push_front(hash);
  ghost_of_.emplace(hash, ghosts_.begin());
  // As many as there are documents.
  while (ghosts_.size() > std::max(kMinGhosts, entries_.size())) {
    ghost_of_.erase(ghosts_.back());
    ghosts_.pop_back();
  }
}

bool LocalStore::remembered(std::size_t hash) {
  const auto found = ghost_of_.find(hash);
  if (found == ghost_of_.end()) return false;
  ghosts_.erase(found->second);
  ghost_of_.erase(found);
  return true;
}

void LocalStore::forget(Queue::iterator entry) {
  entries_.erase(entry->document->key());
  (entry->in_main ? main_bytes_ : small_bytes_) -= entry->bytes;
  (entry->in_main ? main_ : small_).erase(entry);
}

}  // namespace proxy
