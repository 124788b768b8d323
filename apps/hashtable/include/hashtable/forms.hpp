// SPDX-License-Identifier: MIT
// HashTable<Key, Value>: what its two forms have in common, and which keys and values have which.
#pragma once

#include <type_traits>

#include "dsfabric/travels.hpp"
#include "hashtable/detail/home.hpp"
#include "hashtable/options.hpp"

namespace hashtable {

/// Entries that lie in the slots themselves. Keys are compared by their bytes.
template <class Key, class Value>
concept InSlots = dsfabric::PlainData<Key> && dsfabric::PlainData<Value> &&
                  std::has_unique_object_representations_v<Key> && sizeof(Key) <= kMaxSlotKey &&
                  sizeof(Value) <= kMaxSlotValue;

/// How full a table is; see detail::Fill.
using Fill = detail::Fill;

/// A hash table whose parts lie at all workers of a job: each key has its home at one of them, by
/// its hash. Two forms behind one name: plain keys and values of at most kMaxSlotKey and
/// kMaxSlotValue bytes lie in the slots of buckets (hash_table_of_slots.hpp), and all else that
/// travels (dsfabric/travels.hpp: std::string, std::vector, ...) lies in pieces that the slots name
/// (hash_table_of_pieces.hpp).
///
///     hashtable::HashTable<std::uint64_t, std::uint64_t> table{self};
///     if (table.insert(1, 2) == hashtable::Status::kDone) ...
///     const std::optional<std::uint64_t> two = table.find(1);
///
/// Each worker makes its own object, at the same point of its program (a collective), and uses only
/// this one: owner thread only. All objects are one table. They are destroyed after a barrier that
/// follows the last operation.
///
/// All operations on a key are linearizable: each takes place at one moment between its call and
/// its return. An operation whose home is gone throws dsfabric::PeerFailed; it may have taken
/// place. Operations on other homes go on. In a handler outside a fiber only find() may be
/// used, in mode kOneSided.
///
/// Source: paper 002, section 4 (buckets of blocks with chains; cost model); RACE (2021) and
/// extendible hashing for the directory; Pilaf (2013) for the checks.
template <class Key, class Value>
class HashTable;

}  // namespace hashtable
