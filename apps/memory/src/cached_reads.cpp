// SPDX-License-Identifier: MIT
// Cached and subscribed reads.
#include <cstring>
#include <new>

#include "client_calls.hpp"
#include "dtutils/device_memory.hpp"

namespace memory::detail {
namespace {

/// Where the version of a cached read arrives.
constexpr std::uint64_t kVersionArrived = 0;
/// Where the old value of the lock word arrives, beside what post_read uses.
constexpr std::uint64_t kLockArrived = 16;

void copy(void* into, const Cache::Entry& entry, const Place& place, std::uint64_t bytes) noexcept {
  std::memcpy(into, entry.data.get() + place.first, bytes);
}

}  // namespace

Status ClientState::read_cached(const Place& place, void* into, std::uint64_t bytes) {
  if (cached(place) != nullptr) {
    Used operation(*this, 0);
    operation->transmitter = &transmitter(place);
    const dtutils::LocalBuffer here = operation->scratch.local(kVersionArrived, kWord);
    const auto there = at(place, kVersionAt, kWord);
    if (space.lines) {
      operation->arm();
      if (!operation->transmitter->read(here, there, operation->arrived)) {
        return Status::kHomeFailed;
      }
    } else if (!expect(*operation, dtutils::read_marked(*operation->transmitter, here, there))) {
      return Status::kHomeFailed;
    }
    if (!await(*operation)) return Status::kHomeFailed;
    const std::uint64_t now = dtutils::load_device_word(
        reinterpret_cast<const std::uint64_t*>(operation->scratch.data() + kVersionArrived));
    // Looked for again, since others may have used the cache meanwhile.
    const Cache::Entry* const entry = cached(place);
    if (entry != nullptr && entry->version == now) [[likely]] {
      ++counters.hits;
      copy(into, *entry, place, bytes);
      return Status::kDone;
    }
  }
  ++counters.misses;
  std::uint64_t version = 0;
  if (!cache.takes(place.length) || reader_bit == 0 || reading_locked) {
    return fetch(place, {place.first, bytes}, into, version);
  }
  return fetch_locked(place, into, bytes);
}

Status ClientState::fetch_locked(const Place& place, void* into, std::uint64_t bytes) {
  const Range whole{0, place.length};
  Used operation(*this, scratch_for(place, whole));
  operation->direct = false;
  Tries tries;
  for (;;) {
    dtutils::Transmitter& home = transmitter(place);
    // Nobody else of this Client holds it, so its bit is free.
    reading_locked = true;
    if (!home.fetch_and_add(operation->scratch.local(kLockArrived, kWord), at(place, 0, kWord),
                            reader_bit)) {
      reading_locked = false;
      return Status::kHomeFailed;
    }
    Status status = Status::kHomeFailed;
    bool locked = false;
    std::uint64_t version = 0;
    {
      const struct Unlock {
        ClientState& state;
        const Place& place;
        ~Unlock() {
          state.unlock(place, state.reader_bit);
          state.reading_locked = false;
        }
      } unlock{*this, place};
      // The READ is executed after the atomic: under the lock, unless a writer had it.
      if (!post_read(*operation, place, whole) || !await(*operation)) return Status::kHomeFailed;
      locked = !has_writer(dtutils::load_device_word(
          reinterpret_cast<const std::uint64_t*>(operation->scratch.data() + kLockArrived)));
      status = decode(*operation, place, whole, version);
      if (locked && status == Status::kDone) {
        cache_whole(*operation, place, version);
        copy_part(*operation, place, whole, {place.first, bytes}, into);
      }
    }
    if (status == Status::kFreed) forget(place);
    // Without the lock a value is not cached, so it is read again.
    if (status != Status::kAgain && (locked || status != Status::kDone)) return status;
    status = again(tries, place, version);
    if (status != Status::kAgain) return status;
  }
}

Status ClientState::read_subscribed(const Place& place, void* into, std::uint64_t bytes) {
  Cache::Entry* const entry = cached(place);
  if (entry == nullptr || !entry->is_subscribed()) return subscribe(place, into, bytes);
  if (entry->is_current()) {
    ++counters.hits;
    copy(into, *entry, place, bytes);
    return Status::kDone;
  }
  const Status status =
      fetch_whole(place, into, bytes, [&](const Operation& operation, std::uint64_t version) {
        cache_whole(operation, place, version);
      });
  if (status == Status::kFreed) forget(place);
  return status;
}

Status ClientState::subscribe_to(const Place& place, const std::uint64_t*& word) {
  word = free_words.back();
  free_words.pop_back();
  const auto address = reinterpret_cast<std::uint64_t>(word);
  // When it throws, nobody knows whether the home writes there from now on: the word is lost.
  const Status status =
      ask(place.home(), SubscribeRequest{0, place, address, words.rkey(), 1}).status;
  if (status != Status::kDone) free_words.push_back(word);
  return status;
}

Status ClientState::subscribe(const Place& place, void* into, std::uint64_t bytes) {
  // Without a word, or room for the copy, it is read as a cached one.
  if (!cache.takes(place.length) || free_words.empty()) return read_cached(place, into, bytes);
  const std::uint64_t* word = nullptr;
  const Status status = subscribe_to(place, word);
  if (status == Status::kFreed) forget(place);
  if (status != Status::kDone) return status;
  Cache::Entry* entry = cached_now(place);
  if (entry != nullptr && entry->is_subscribed()) {
    // Another fiber was faster: this word stays subscribed to as well, and is lost.
    return read_subscribed(place, into, bytes);
  }
  if (entry == nullptr) {
    make_room(place.length);
    entry = &cache.add(place);
  }
  entry->word = word;
  return read_subscribed(place, into, bytes);
}

Cache::Entry* ClientState::cached_now(const Place& place) {
  Cache::Entry* const entry = cache.find(place.place);
  if (entry == nullptr || entry->is_of(place)) return entry;
  // The home goes on to tell of a segment that it has not freed.
  if (entry->place.generation() == place.generation()) {
    evict(*entry);
  } else {
    const Place before = entry->place;
    forget(before);
  }
  return nullptr;
}

void ClientState::cache_whole(const Operation& operation, const Place& place,
                              std::uint64_t version) {
  try {
    Cache::Entry* entry = cached_now(place);
    if (entry == nullptr) {
      make_room(place.length);
      entry = &cache.add(place);
    }
    copy_part(operation, place, {0, place.length}, {0, place.length}, entry->data.get());
    entry->version = version;
  } catch (const std::bad_alloc&) {
    // It is not cached then; but what was cached is not taken for newer than it is.
  }
}

void ClientState::make_room(std::uint64_t length) {
  while (Cache::Entry* const victim = cache.victim(length)) {
    ++counters.evictions;
    evict(*victim);
  }
}

void ClientState::forget(const Place& place) {
  Cache::Entry* const entry = cache.find(place.place);
  if (entry == nullptr || !entry->is_of(place)) return;
  // The home has ended all subscriptions of a segment that it freed: the word is free.
  if (entry->is_subscribed()) free_words.push_back(entry->word);
  cache.erase(*entry);
}

void ClientState::evict(Cache::Entry& entry) {
  if (entry.is_subscribed()) unsubscribe(entry.place, entry.word);
  cache.erase(entry);
}

void ClientState::unsubscribe(const Place& place, const std::uint64_t* word) {
  Operation& operation = take(0);
  operation.place = place;
  operation.frees_word = word;
  operation.into = nullptr;
  operation.completion = {};
  operation.call = [](ClientState& state, Operation& its) {
    SubscribeRequest request{state.space.homes[its.place.home().value].address, its.place,
                             reinterpret_cast<std::uint64_t>(its.frees_word), state.words.rkey(),
                             0};
    state.try_call(its, request);
  };
  operation.call(*this, operation);
  start(operation);
}

}  // namespace memory::detail
