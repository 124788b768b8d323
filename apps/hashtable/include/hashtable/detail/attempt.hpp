// SPDX-License-Identifier: MIT
// One try of an operation on a bucket, the same for the home and for everyone else.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "hashtable/detail/examine.hpp"
#include "hashtable/options.hpp"

namespace hashtable::detail {

/// How a try has ended.
enum class Ended : std::uint8_t {
  /// `status` is the answer.
  kDecided,
  /// As kDecided, if the bucket is in the directory still: a slot of it is frozen.
  kDecidedFrozen,
  /// To be tried again: another writer was faster, or the bytes changed.
  kAgain,
  /// The directory has changed.
  kStale,
  /// The bucket is being rebuilt.
  kFrozen,
  /// All its slots are taken.
  kFull,
  /// A slot is in the hands of another writer, `busy`, who may be about to write this key.
  kBusy,
};

/// The end of a try.
struct Attempt {
  /// How it ended.
  Ended ended;
  /// The answer.
  Status status = Status::kAgain;
  /// The block of the busy slot.
  BucketWord block{};
  /// The busy slot.
  std::uint32_t slot = 0;
  /// Its word.
  SlotWord busy{};
};

/// What the tries of one operation share.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
struct Request {
  /// What is to be done.
  Operation operation;
  /// The rank of the worker that does it.
  std::uint16_t me;
  /// Of the key.
  std::uint64_t hash;
  /// The key.
  std::array<std::uint64_t, kKeyWords> key;
  /// The value to be written, or the one that was found.
  std::array<std::uint64_t, kValueWords> value;
};

/// The two kinds of writes that end an insert or update. Port::write posts the words and waits
/// until they are there.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords, class Port>
void write_entry(Port& port, BucketWord block, std::uint32_t slot,
                 const Request<kKeyWords, kValueWords>& request, std::uint32_t version,
                 unsigned cell, bool with_key) {
  constexpr Shape kShape = shape_of(kKeyWords, kValueWords);
  const SlotWord word =
      SlotWord::make(SlotState::kLive, fingerprint_of(request.hash), request.me, version, cell);
  std::array<std::uint64_t, 2 + kValueWords + kKeyWords> words;
  std::uint32_t count = 0;
  if (cell == 1) words[count++] = word.raw;
  words[count++] =
      check_of(version, request.value.data(), kValueWords, request.key.data(), kKeyWords);
  for (const std::uint64_t value : request.value) words[count++] = value;
  if (cell == 0) words[count++] = word.raw;
  if (with_key) {
    for (const std::uint64_t key : request.key) words[count++] = key;
  }
  const std::uint32_t at = cell == 1 ? kShape.word_at(slot) : kShape.cell_at(slot, 0);
  port.write(block.index(), at, words.data(), count, cell == 1 ? 0 : count - 1);
}

/// Claims an empty slot and writes the entry: one compare-and-swap and one write.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords, class Port>
bool claim(Port& port, BucketWord block, std::uint32_t slot,
           const Request<kKeyWords, kValueWords>& request) {
  constexpr Shape kShape = shape_of(kKeyWords, kValueWords);
  const SlotWord claimed = SlotWord::make(SlotState::kClaimed, fingerprint_of(request.hash),
                                          request.me, block.birth(), 0);
  if (!port.swap(block.index(), kShape.word_at(slot), SlotWord::empty(block.birth()).raw,
                 claimed.raw)) {
    return false;
  }
  write_entry(port, block, slot, request, block.birth() + 1, 1, true);
  return true;
}

/// An insert into the first slot of the probe order, without a look: when that slot is empty, the
/// key has no other. The birth in the word excludes every other bucket.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords, class Port>
bool insert_blindly(Port& port, BucketWord bucket, const Request<kKeyWords, kValueWords>& request) {
  constexpr Shape kShape = shape_of(kKeyWords, kValueWords);
  return claim(port, bucket, first_slot(request.hash, kShape.slots), request);
}

/// Changes the slot that a look has found; false: another writer was faster.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords, class Port>
bool change(Port& port, BucketWord block, const Seen<kValueWords>& seen,
            const Request<kKeyWords, kValueWords>& request) {
  constexpr Shape kShape = shape_of(kKeyWords, kValueWords);
  const std::uint32_t at = kShape.word_at(seen.slot);
  const std::uint32_t version = seen.word.version() + 1;
  if (request.operation == Operation::kRemove) {
    const SlotWord absent = SlotWord::make(SlotState::kAbsent, seen.word.fingerprint(), request.me,
                                           version, seen.word.cell());
    return port.swap(block.index(), at, seen.word.raw, absent.raw);
  }
  const SlotWord locked{SlotWord::make(seen.word.state(), seen.word.fingerprint(), request.me,
                                       seen.word.version(), seen.word.cell())
                            .raw |
                        SlotWord::kLocked};
  if (!port.swap(block.index(), at, seen.word.raw, locked.raw)) return false;
  write_entry(port, block, seen.slot, request, version, 1 - seen.word.cell(), false);
  return true;
}

/// One try from the first block of a bucket, whose first look the caller may have made already.
/// `expected`: an update takes place if the key has this value; else the answer is kDiffers, and
/// `seen` has the value. The slot word that change() swaps is that of the look, and a word never
/// comes back with another value, so the value is still the same when the slot is locked.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords, class Port>
Attempt attempt(
    Port& port, BucketWord bucket, Request<kKeyWords, kValueWords>& request,
    Seen<kValueWords>& seen, bool looked,
    const std::type_identity_t<std::array<std::uint64_t, kValueWords>>* expected = nullptr) {
  BucketWord block = bucket;
  bool frozen = false;
  const Operation operation = request.operation;
  const bool inserts = operation == Operation::kInsert || operation == Operation::kInsertOrAssign;
  for (;; looked = false) {
    if (!looked) {
      examine<kKeyWords, kValueWords>(port.read(block.index()), block, request.hash, request.key,
                                      seen);
    }
    frozen |= seen.frozen;
    if (seen.look == Look::kStale) return {Ended::kStale};
    if (seen.look == Look::kTorn) return {Ended::kAgain};
    if (!holds<kKeyWords, kValueWords>(port, block, seen)) return {Ended::kAgain};
    if (seen.claimed && inserts) {
      return {Ended::kBusy, Status::kAgain, block, seen.claimed_slot, seen.claimed_word};
    }
    if (seen.look != Look::kEnd || !seen.next) break;
    block = seen.next;
  }
  const auto decided = [&](Status status) -> Attempt {
    return {frozen ? Ended::kDecidedFrozen : Ended::kDecided, status};
  };
  const bool has_value = seen.look == Look::kValue;
  if (operation == Operation::kFind) {
    if (has_value) request.value = seen.value;
    return decided(has_value ? Status::kDone : Status::kMissing);
  }
  if (operation == Operation::kInsert && has_value) return decided(Status::kExists);
  if (!inserts && !has_value) return decided(Status::kMissing);
  if (expected != nullptr && seen.value != *expected) return decided(Status::kDiffers);
  if (seen.look == Look::kEnd) return {frozen ? Ended::kFrozen : Ended::kFull};
  if (seen.word.frozen()) return {Ended::kFrozen};
  if (seen.look == Look::kEmpty) {
    return claim(port, block, seen.slot, request) ? Attempt{Ended::kDecided, Status::kDone}
                                                  : Attempt{Ended::kAgain};
  }
  if (seen.settling || seen.word.locked()) {
    return {Ended::kBusy, Status::kAgain, block, seen.slot, seen.word};
  }
  if (seen.word.worn()) return {Ended::kFull};
  return change(port, block, seen, request) ? Attempt{Ended::kDecided, Status::kDone}
                                            : Attempt{Ended::kAgain};
}

}  // namespace hashtable::detail
