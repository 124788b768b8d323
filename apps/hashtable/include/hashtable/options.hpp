// SPDX-License-Identifier: MIT
// What a user may choose about a table, and what its operations answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hashtable {

/// How operations reach the home of a key.
enum class Mode : std::uint8_t {
  /// By reads, compare-and-swaps and writes of the caller: the home's worker runs no code.
  kOneSided,
  /// By calls (RIutils), which the home's worker runs in its progress().
  kByCall,
  /// As kOneSided, and what finds have found is kept here: a find of such a key reads the slot's
  /// word, 8 bytes, and when it is the same, so is the value. Entries in slots only; those of
  /// variable size are found as in kOneSided.
  kCached,
  /// Each operation in the way that the cost model (cost.hpp) expects to be cheaper; the table
  /// measures the basic operations of the job when it is made.
  kAutomatic,
};

/// How a table grows.
enum class Growth : std::uint8_t {
  /// Full buckets are split, and the directory doubles.
  kDouble,
  /// The directory keeps its size: full buckets get chains of further blocks.
  kChain,
  /// Neither: an insert into a full bucket answers kFull.
  kNone,
};

/// The same at all workers of a job.
struct Options {
  /// How operations reach the home of a key.
  Mode mode = Mode::kOneSided;
  /// How the table grows.
  Growth growth = Growth::kDouble;
  /// Registered memory of each worker's part, in bytes; 32 GiB at most.
  std::size_t bytes = std::size_t{16} << 20;
  /// Buckets of each part at the start: rounded up to a power of two, at least 2.
  std::uint32_t buckets = 64;
  /// Mode::kCached: entries that this worker keeps at most, rounded up to a power of two.
  std::uint32_t cached = 4096;
  /// Entries that do not fit into a slot: bytes of the largest key and value together. Each worker
  /// has room for one of them at each home, or for the smaller ones that one call carries.
  std::size_t max_entry = std::size_t{132} << 10;
};

/// What an operation answers. "No" is no error; a home that is gone is a PeerFailed.
enum class [[nodiscard]] Status : std::uint8_t {
  /// It took place.
  kDone,
  /// insert: the key is there already, and keeps its value.
  kExists,
  /// find, update, remove, compare_exchange: there is no such key.
  kMissing,
  /// All but find and remove: the home has no memory left for it, or the table may not grow.
  kFull,
  /// compare_exchange: the key has another value, and keeps it.
  kDiffers,
  /// Answers of calls to their callers only: to be tried again.
  kAgain,
};

/// What can be done with a key.
enum class Operation : std::uint8_t { kFind, kInsert, kUpdate, kRemove, kInsertOrAssign };
/// All of them.
inline constexpr std::array kOperations{Operation::kFind, Operation::kInsert, Operation::kUpdate,
                                        Operation::kRemove, Operation::kInsertOrAssign};

/// Bytes of a key and of a value that lie in the slots of a bucket; larger entries, and those of
/// variable size, lie in blocks that the slots name.
inline constexpr std::size_t kMaxSlotKey = 32;
/// The same for values.
inline constexpr std::size_t kMaxSlotValue = 64;
/// Reads that one batch keeps in flight.
inline constexpr std::uint32_t kInFlight = 32;
/// Operations that one call carries.
inline constexpr std::uint32_t kCallBatch = 32;

}  // namespace hashtable
