// SPDX-License-Identifier: MIT
// The cost model: what operations on a table take, from what the basic operations of a job take.
#pragma once

#include <cstdint>
#include <string>

#include "dsfabric/thread.hpp"
#include "hashtable/options.hpp"

namespace hashtable::cost {

/// Latencies of basic operations, in nanoseconds.
struct Basics {
  /// RDMA write of a slot's entry until it is there.
  double write = 0;
  /// RDMA read of 8 bytes.
  double read_word = 0;
  /// RDMA read of a block of a bucket.
  double read = 0;
  /// Compare-and-swap.
  double compare_and_swap = 0;
  /// Fetch-and-add.
  double fetch_and_add = 0;
  /// call_return over rings, from one worker to another.
  double call = 0;
  /// call_return by message, to a service thread.
  double service = 0;
  /// Exclusive lock and unlock of a word that nobody else wants: two compare-and-swaps.
  double lock = 0;
  /// A find in memory of this process: the work on a block that was read, or on what was kept.
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
};

/// Nanoseconds that an operation is expected to take.
///
///     find   = read + hit + chained * (read + hit)
///     cached: hit_rate * (read_word + hit) + (1 - hit_rate) * find
///     insert = swap + write + factor * (read + hit + swap) + chained * (read + hit)
///              + full * (service + 2 * read_word + read + hit)
///     update = read + hit + swap + write + chained * (read + hit)
///     remove = read + hit + swap + chained * (read + hit)
///     by call: call + hit + chained * hit
///
/// The first slot that an insert claims is taken with probability `factor`; an insert into a full
/// bucket asks the home for room. `hit_rate`: the part of
/// finds in Mode::kCached that what was kept answers. Any thread.
double expect(Operation operation, Mode mode, const Basics& basics, double hit_rate,
              const Load& load) noexcept;

/// The mode that expect() finds cheaper. Any thread.
Mode cheaper(Operation operation, const Basics& basics, double hit_rate, const Load& load) noexcept;

/// Measures the job, each figure the median of several short batches, for blocks of `block_bytes`
/// bytes and entries of `entry_bytes`. A collective of all workers, which takes some milliseconds
/// for each of them. `rounds`: operations of a batch. Setup only.
Costs measure(dsfabric::Thread& self, std::uint32_t block_bytes, std::uint32_t entry_bytes,
              std::uint32_t rounds = 2000);

/// The table of Costs as text, like tables 1 and 2 of the paper; and as JSON. Setup only.
std::string to_text(const Costs& costs);
/// See to_text.
std::string to_json(const Costs& costs);

}  // namespace hashtable::cost
