// SPDX-License-Identifier: MIT
// FixedTable: one operation, at home, from elsewhere, and by call; and the walk over all entries.
#pragma once

#include <exception>

#include "dsfabric/peer_failed.hpp"
#include "dtutils/wait.hpp"
#include "hashtable/detail/entries.hpp"
#include "hashtable/detail/fixed_table.hpp"

namespace hashtable::detail {

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
Status FixedTable<kKeyWords, kValueWords>::answer(Home& home, Asked& asked, std::uint16_t rank,
                                                  const Value* expected) {
  /// Tries that others may spoil before the caller is asked to come again.
  constexpr int kTries = 64;
  LocalPort port(home);
  Seen<kValueWords> seen;
  asked.me = rank;
  if (asked.operation == Operation::kInsert &&
      insert_blindly(port, home.bucket_of(asked.hash), asked)) {
    return Status::kDone;
  }
  for (int tries = 0; tries < kTries; ++tries) {
    const BucketWord bucket = home.bucket_of(asked.hash);
    const std::uint64_t* const block = port.read(bucket.index());
    if (asked.operation == Operation::kFind &&
        first_has_value<kKeyWords, kValueWords>(block, bucket, asked.hash, asked.key,
                                                asked.value)) {
      return Status::kDone;
    }
    examine<kKeyWords, kValueWords>(block, bucket, asked.hash, asked.key, seen);
    if (asked.operation == Operation::kFind && seen.look == Look::kValue && !seen.frozen &&
        !seen.settling) [[likely]] {
      asked.value = seen.value;
      return Status::kDone;
    }
    const Attempt tried = attempt(port, bucket, asked, seen, true, expected);
    switch (tried.ended) {
      case Ended::kDecided:
        return concluded(asked, tried.status, seen);
      case Ended::kDecidedFrozen:
        if (home.bucket_of(asked.hash) == bucket) return concluded(asked, tried.status, seen);
        break;
      case Ended::kFull:
      case Ended::kFrozen: {
        const Room room = home.make_room(asked.hash, bucket);
        if (room == Room::kNone) return Status::kFull;
        if (room == Room::kBusy) return Status::kAgain;
        break;
      }
      case Ended::kBusy:
        home.repair(tried.block, tried.slot, tried.busy);
        return Status::kAgain;
      case Ended::kAgain:
      case Ended::kStale:
        break;
    }
  }
  return Status::kAgain;
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
Status FixedTable<kKeyWords, kValueWords>::local(Asked& asked, const Value* expected) {
  dtutils::Backoff backoff;
  for (;;) {
    const Status status = answer(home_, asked, rank_, expected);
    if (status != Status::kAgain) return status;
    // What it waits for ends when the other writer has written, or is found dead.
    self_.progress() ? backoff.reset() : backoff.pause();
  }
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
Status FixedTable<kKeyWords, kValueWords>::one_sided(std::uint32_t home, Asked& asked,
                                                     const std::uint64_t* copy, BucketWord bucket,
                                                     const Value* expected) {
  RemotePort& port = *ports_[home];
  if (copy == nullptr) bucket = port.bucket_of(asked.hash);
  if (asked.operation == Operation::kInsert && insert_blindly(port, bucket, asked)) {
    return Status::kDone;
  }
  if (asked.operation == Operation::kFind && !cache_.wanted()) {
    if (copy == nullptr) copy = port.read(bucket.index());
    if (first_has_value<kKeyWords, kValueWords>(copy, bucket, asked.hash, asked.key, asked.value))
        [[likely]] {
      return Status::kDone;
    }
  }
  dtutils::Backoff backoff;
  for (;; bucket = port.bucket_of(asked.hash), copy = nullptr) {
    Seen<kValueWords> seen;
    if (copy == nullptr) copy = port.read(bucket.index());
    examine<kKeyWords, kValueWords>(copy, bucket, asked.hash, asked.key, seen);
    if (asked.operation == Operation::kFind && seen.look == Look::kValue && !seen.frozen &&
        !seen.settling) [[likely]] {
      asked.value = seen.value;
      if (cache_.wanted()) keep(asked, bucket, seen);
      return Status::kDone;
    }
    const Attempt tried = attempt(port, bucket, asked, seen, true, expected);
    bool wait = false;
    switch (tried.ended) {
      case Ended::kDecided:
        return concluded(asked, tried.status, seen);
      case Ended::kDecidedFrozen:
        // What was seen is true if the bucket is in the directory now, after the look.
        port.refresh(asked.hash);
        if (port.bucket_of(asked.hash) == bucket) return concluded(asked, tried.status, seen);
        break;
      case Ended::kFull:
      case Ended::kFrozen: {
        const Room room = ask_for_room(home, asked.hash, bucket);
        if (room == Room::kNone) return Status::kFull;
        wait = room == Room::kBusy;
        port.refresh(asked.hash);
        break;
      }
      case Ended::kBusy:
        if (gone(tried.busy.owner())) ask_for_repair(home, tried);
        wait = true;
        break;
      case Ended::kStale:
        port.refresh(asked.hash);
        break;
      case Ended::kAgain:
        break;
    }
    if (wait) self_.progress() ? backoff.reset() : backoff.pause();
  }
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
Status FixedTable<kKeyWords, kValueWords>::called(std::uint32_t home, Asked& asked) {
  switch (asked.operation) {
    case Operation::kFind:
      return called<Operation::kFind>(home, asked);
    case Operation::kInsert:
      return called<Operation::kInsert>(home, asked);
    case Operation::kUpdate:
      return called<Operation::kUpdate>(home, asked);
    case Operation::kRemove:
      return called<Operation::kRemove>(home, asked);
    case Operation::kInsertOrAssign:
      break;
  }
  return called<Operation::kInsertOrAssign>(home, asked);
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
template <Operation kOperation>
Status FixedTable<kKeyWords, kValueWords>::called(std::uint32_t home, Asked& asked) {
  // Only what the home does not know: a call of more than a cache line comes by two.
  const auto at_home = [at = places_[home].home, key = asked.key,
                        value = asked.value](dsfabric::CallContext& call) {
    Asked mine{kOperation, 0, hash_of(key.data(), kKeyWords), key, value};
    const Status status = answer(*reinterpret_cast<Home*>(at), mine, rank_of(call));
    return Answer<kValueWords>{status, mine.value};
  };
  return call_home(home, at_home, asked.value);
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
Status FixedTable<kKeyWords, kValueWords>::called(std::uint32_t home, Asked& asked,
                                                  const Value& expected) {
  const auto at_home = [at = places_[home].home, key = asked.key, value = asked.value,
                        expected](dsfabric::CallContext& call) {
    Asked mine{Operation::kUpdate, 0, hash_of(key.data(), kKeyWords), key, value};
    const Status status = answer(*reinterpret_cast<Home*>(at), mine, rank_of(call), &expected);
    return Answer<kValueWords>{status, mine.value};
  };
  return call_home(home, at_home, asked.value);
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
template <class F>
Status FixedTable<kKeyWords, kValueWords>::call_home(std::uint32_t home, const F& at_home,
                                                     Value& value) {
  dtutils::Backoff backoff;
  for (;;) {
    Answer<kValueWords> result;
    if (!answer_in_use_) {
      answer_in_use_ = true;
      const struct Free {
        bool& in_use;
        ~Free() { in_use = false; }
      } free{answer_in_use_};
      (void)calls_.call_return(thread_of(home), at_home, answer_);
      result = answer_.get();
    } else {  // a fiber of this worker waits for an answer in the slot
      result = calls_.call_return(thread_of(home), at_home).get();
    }
    if (result.status != Status::kAgain) {
      value = result.value;
      return result.status;
    }
    self_.progress() ? backoff.reset() : backoff.pause();
  }
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
Room FixedTable<kKeyWords, kValueWords>::ask_for_room(std::uint32_t home, std::uint64_t hash,
                                                      BucketWord bucket) {
  dsfabric::SendChannel channel(self_.fabric());
  return channel
      .call_return(dsfabric::ThreadId::service_of(thread_of(home).process),
                   [at = homes_[home], hash, bucket](dsfabric::CallContext& call) {
                     return at.get(call.fabric)->make_room(hash, bucket);
                   })
      .get();
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
void FixedTable<kKeyWords, kValueWords>::ask_for_repair(std::uint32_t home, const Attempt& tried) {
  dsfabric::SendChannel channel(self_.fabric());
  channel
      .call_return(
          dsfabric::ThreadId::service_of(thread_of(home).process),
          [at = homes_[home], block = tried.block, slot = tried.slot, busy = tried.busy](
              dsfabric::CallContext& call) { at.get(call.fabric)->repair(block, slot, busy); })
      .get();
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
template <class F>
void FixedTable<kKeyWords, kValueWords>::for_each(F&& f) {
  using Collected = Entries<kKeyWords, kValueWords>;
  Collected entries;
  std::exception_ptr lost;
  for (std::uint32_t home = 0; home < parts(); ++home) {
    RemotePort* const port = ports_[home].get();
    // Hashes below `next` are done: what moves between buckets moves within a range of hashes.
    std::uint64_t next = 0;
    for (bool all = false; !all;) {
      BucketWord bucket;
      bool holds = false;
      try {
        bucket = port == nullptr ? home_.bucket_of(next) : port->bucket_of(next);
        holds = port == nullptr ? entries.collect(local_, bucket) : entries.collect(*port, bucket);
        if (port != nullptr && (!holds || entries.frozen())) port->refresh(next);
        if (holds && entries.frozen()) {
          holds = (port == nullptr ? home_.bucket_of(next) : port->bucket_of(next)) == bucket;
        }
      } catch (const dsfabric::PeerFailed&) {
        if (!lost) lost = std::current_exception();
        break;
      }
      if (!holds) continue;
      for (const auto& [key, value] : entries.all()) f(key, value);
      const unsigned depth = bucket.depth();
      next = ((next >> (64 - depth)) + 1) << (64 - depth);
      all = next == 0;
    }
  }
  if (lost) std::rethrow_exception(lost);
}

}  // namespace hashtable::detail
