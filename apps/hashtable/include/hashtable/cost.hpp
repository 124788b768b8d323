// SPDX-License-Identifier: MIT
// The cost model: what operations on a table take, from what the basic operations of a job take.
#pragma once

#include <cstdint>
#include <string>

#include "dsfabric/thread.hpp"
#include "hashtable/options.hpp"

namespace hashtable::cost {

/// Latencies of basic operations, in nanoseconds. Those on "a place" go to another place of a table
/// each time, in an order that nothing can foresee, and the processor's caches hold as much of it
/// as they can; the others go to one line. Those of a table have the work that it does before and
/// behind each step, since a processor overlaps steps with each other, and hardly with such work.
struct Basics {
  /// RDMA write of a slot's entry until it is there.
  double write = 0;
  /// RDMA read of 8 bytes of a place.
  double read_word = 0;
  /// RDMA read of a block of a bucket: a place.
  double read = 0;
  /// Compare-and-swap.
  double compare_and_swap = 0;
  /// Fetch-and-add.
  double fetch_and_add = 0;
  /// A table's: hash of a key, RDMA read of its block, a place, and the look for the key in it,
  /// which has the first slot that it may have.
  double look = 0;
  /// The same in blocks whose slots are all taken, so that keys are in other slots, too.
  double crowded = 0;
  /// A table's: a look as of `look`, then a compare-and-swap in the place.
  double change = 0;
  /// A table's: compare-and-swap of an empty slot of a place, then a write of its entry.
  double claim = 0;
  /// A table's: such a compare-and-swap that finds the slot taken; then a look, and a claim.
  double taken = 0;
  /// A table's, Mode::kCached: a look among the entries that were kept, then a read_word.
  double kept = 0;
  /// A table's, Mode::kCached: a look among them in vain, then `look`; and it is kept.
  double missed = 0;
  /// call_return over rings, from one worker to another.
  double call = 0;
  /// call_return by message, to a service thread that is awake.
  double service = 0;
  /// The same to one that sleeps.
  double wake = 0;
  /// How long a service thread whom nobody asks looks for calls before it sleeps; 40 us at most.
  double awake = 0;
  /// A table's: an insert into a full bucket whose home has a service thread that is awake. A
  /// compare-and-swap in vain, a look, a call that makes a block, two reads of the directory, and
  /// looks at both blocks and a claim.
  double block = 0;
  /// The same while the service thread sleeps: not `block + wake - service`, since a thread that
  /// has slept takes longer for more than its waking.
  double block_asleep = 0;
  /// Exclusive lock and unlock of a word that nobody else wants: two compare-and-swaps.
  double lock = 0;
  /// A find in memory of this process.
  double hit = 0;
};

/// What was measured of a job.
struct Costs {
  /// One worker at a time.
  Basics alone;
  /// All workers at once.
  Basics all;
};

/// How full a table is, for the model.
struct Load {
  /// Slots of first blocks that are taken / all of them: 0 to 1.
  double factor = 0;
  /// Buckets none of whose slots is empty / all of them.
  double full = 0;
  /// Further blocks that an average key is behind its first one.
  double chained = 0;
  /// Further blocks of an average bucket: an insert looks at all of them.
  double further = 0;
};

/// Nanoseconds that an operation is expected to take.
///
///     find   = look + search
///     search = factor * (full_look - look) + chained * full_look
///     cached: hit_rate * kept + (1 - hit_rate) * (missed + search)
///     insert = (1 - factor) * claim + (factor - full) * (taken + factor * (full_look - look))
///              + further * full_look + full * room
///     room   = block + asleep * max(block_asleep - block, 0)
///     update = change + write + search, and insert_or_assign of a key that is there
///     remove = change + search
///     by call: call + hit + chained * hit
///
/// `full_look` is the greater one of `look` and `crowded`: the fuller a block, the more slots are
/// looked at, and the less a processor can foresee how many.
/// The first slot that an insert claims is taken with probability `factor`; an insert into a full
/// bucket asks the home for room, a block that is chained to it. `asleep`: how likely its service
/// thread sleeps by then, as chance has it: exp(-awake * full / (an insert without room)).
/// `hit_rate`: the part of finds in Mode::kCached that what was kept answers. Any thread.
double expect(Operation operation, Mode mode, const Basics& basics, double hit_rate,
              const Load& load) noexcept;

/// The load to expect of a table that chains (Growth::kChain), with `taken` times as many keys as
/// its first blocks have slots: `slots` each. Keys come to buckets by chance, so their numbers are
/// Poisson's. More than a million for each bucket count as a million; less than 0, as 0. Any
/// thread.
Load chaining(double taken, std::uint32_t slots) noexcept;

/// The mode that expect() finds cheaper. Any thread.
Mode cheaper(Operation operation, const Basics& basics, double hit_rate, const Load& load) noexcept;

/// What is measured: the table whose operations are to be predicted.
struct Subject {
  /// Bytes of a block of a bucket, 8 to 32 KiB; rounded up to words of 8 bytes.
  std::uint32_t block_bytes = 512;
  /// Bytes of the write that fills a slot, 8 to 4096.
  std::uint32_t entry_bytes = 32;
  /// Bytes of the blocks that operations go to at one home, at most 16 MiB: what does not fit into
  /// the caches costs more. Each worker registers as many while it measures.
  std::uint64_t table_bytes = 512 << 10;
  /// Mode::kCached: entries that a worker keeps.
  std::uint32_t kept = 4096;
  /// Operations that a figure rests on.
  std::uint32_t rounds = 2000;
};

/// Measures the job, each figure the median of several short batches. A collective of all workers,
/// which takes some milliseconds for each of them. Throws Error when there is no memory;
/// PeerFailed. Setup only.
Costs measure(dsfabric::Thread& self, const Subject& subject = {});

/// The table of Costs as text, like tables 1 and 2 of the paper; and as JSON. Setup only.
std::string to_text(const Costs& costs);
/// See to_text.
std::string to_json(const Costs& costs);

}  // namespace hashtable::cost
