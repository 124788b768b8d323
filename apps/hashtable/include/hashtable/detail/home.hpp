// SPDX-License-Identifier: MIT
// The part of a table that a worker keeps: its memory, and what only its own process may do with
// it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "dsfabric/thread.hpp"
#include "dtutils/mutex.hpp"
#include "dtutils/rdma_memory.hpp"
#include "hashtable/detail/heap.hpp"
#include "hashtable/detail/layout.hpp"
#include "hashtable/options.hpp"

namespace hashtable::detail {

/// What make_room() has come to.
enum class Room : std::uint8_t {
  /// The bucket has room, or is another one by now.
  kMade,
  /// A writer is in the middle of its write: to be asked again.
  kBusy,
  /// There is no memory left, or the table may not grow.
  kNone,
};

/// How full a part is. Setup only.
struct Fill {
  /// Keys that have a value.
  std::uint64_t entries = 0;
  /// Slots of all blocks.
  std::uint64_t slots = 0;
  /// First blocks of buckets.
  std::uint64_t buckets = 0;
  /// Buckets none of whose slots is empty.
  std::uint64_t full = 0;
  /// Further blocks in the chains of buckets.
  std::uint64_t chained = 0;
  /// Entries that lie in further blocks.
  std::uint64_t chained_entries = 0;
  /// Bits of the directory.
  unsigned depth = 0;
};

/// Only the home changes the structure: it makes buckets, splits and chains them, and repairs slots
/// whose writer has died. Entries are changed by anybody, by operations on slot words. So a death
/// elsewhere never leaves a structure half changed, and the death of the home takes its part along.
///
/// A rebuild: freeze all slots of the bucket (a slot in the hands of a writer cannot be frozen: the
/// rebuild is given up, and goes on when it is asked for again), copy the live entries to new
/// buckets, change the directory, free the old bucket. Who meets a frozen slot looks into the
/// directory afterwards: if the old bucket is in it still, what was seen is true.
///
/// Beliefs: a slot is taken from its writer only after this process has called the writer failed
/// and has cut all connections to it, so nothing that it has posted arrives afterwards, whether it
/// is dead or wakes up. What other processes believe does not count.
///
/// Any thread of the process (takes a lock), unless said otherwise.
class Home {
 public:
  /// Takes the memory and makes the first buckets. Throws Error when there is none. Setup only.
  Home(dsfabric::Thread& self, const Shape& shape, const Options& options, std::size_t staging);
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  ~Home();

  /// The words of the region. Any thread, wait-free.
  std::uint64_t* words() const noexcept { return base_; }
  /// For peers. Any thread, wait-free.
  dtutils::RemoteMemoryLocator remote() const noexcept { return memory_.remote(); }
  /// Where a worker puts what does not fit into a call, in words. Any thread, wait-free.
  std::uint64_t staging_of(std::uint32_t rank) const noexcept {
    return kHeader + rank * staging_words_;
  }
  /// The words that it has room for there. Any thread, wait-free.
  std::uint64_t staging_words() const noexcept { return staging_words_; }
  /// The bucket of a hash. Any thread: the directory that it reads is never freed while a bucket
  /// could be missed, because the answer is checked by the bucket's birth.
  BucketWord bucket_of(std::uint64_t hash) const noexcept;
  /// Asks for the line of a hash's entry in the directory. Any thread, wait-free.
  void prefetch_entry(std::uint64_t hash) const noexcept {
    const DirectoryWord here = directory();
    __builtin_prefetch(base_ + here.place() + entry_of(hash, here.depth()));
  }
  /// Asks for the lines of the two slots that a key has most likely. Any thread, wait-free.
  void prefetch_slot(std::uint64_t hash) const noexcept {
    const std::uint64_t* const at =
        word(bucket_of(hash).index(), shape_.slot_at(first_slot(hash, shape_.slots)));
    __builtin_prefetch(at);
    __builtin_prefetch(at + shape_.slot_words() - 1);
    __builtin_prefetch(at + 2 * shape_.slot_words() - 1);
  }
  /// A word of a block. Any thread, wait-free.
  std::uint64_t* word(std::uint32_t index, std::uint32_t at) const noexcept {
    return base_ + std::size_t{index} * shape_.block_words + at;
  }
  /// Compare-and-swap of such a word, atomic to those of peers: by the CPU, or, on devices whose
  /// atomics do not respect the CPU's, by the device.
  bool swap(std::uint64_t* word, std::uint64_t expected, std::uint64_t desired) noexcept;

  /// Makes room in the bucket of a hash, if it is `bucket` still: by a rebuild without the keys
  /// that were removed, by a split, or by one more block.
  Room make_room(std::uint64_t hash, BucketWord bucket);
  /// Takes a slot from its writer, if that is possible now, and the slot still holds `seen`.
  void repair(BucketWord block, std::uint32_t slot, SlotWord seen);

  /// A piece of memory with a copy of `words`; empty when there is no room.
  std::optional<std::uint64_t> put_piece(std::span<const std::uint64_t> words);
  /// Frees such a piece.
  void free_piece(std::uint64_t place, std::uint64_t words);
  /// Changes of one key that read before they write hold it.
  dtutils::Mutex& changes() noexcept { return changes_; }

  /// How full the part is. Setup only.
  Fill fill();
  /// Words of pieces that are in use.
  std::uint64_t pieces();
  /// Every entry of the directory leads to a bucket of its depth and range. For tests.
  bool invariant();

 private:
  /// Words before the staging areas: a line for the directory's word.
  static constexpr std::uint64_t kHeader = 8;
  struct Entry {
    std::uint64_t hash;
    std::vector<std::uint64_t> words;  // key, value
  };
  /// Which processes have been cut off here; outlives the home, because the upcall may.
  struct Cut {
    explicit Cut(std::size_t count) : processes(count) {}
    std::vector<std::atomic<bool>> processes;
  };

  DirectoryWord directory() const noexcept { return {load(base_)}; }
  std::vector<BucketWord> chain_of(BucketWord bucket) const;
  bool gone(std::uint16_t rank) const noexcept;
  bool whole(BucketWord block, std::uint32_t slot, unsigned cell,
             std::uint32_t version) const noexcept;
  bool repair_locked(BucketWord block, std::uint32_t slot, SlotWord seen) noexcept;
  void rewrite(BucketWord block, std::uint32_t slot, SlotWord seen, SlotWord next) noexcept;
  bool freeze(const std::vector<BucketWord>& chain) noexcept;
  std::vector<Entry> entries_of(const std::vector<BucketWord>& chain) const;
  BucketWord build(std::uint64_t range, unsigned depth, const std::vector<Entry>& entries);
  BucketWord new_block(unsigned depth, std::uint64_t range) noexcept;
  void enter(std::uint64_t range, BucketWord bucket) noexcept;
  bool double_directory();
  void free_chain(const std::vector<BucketWord>& chain);

  dsfabric::Fabric& fabric_;
  const Shape shape_;
  const Options options_;
  const std::uint16_t rank_;
  const bool cpu_atomics_;
  dtutils::RDMAMemory memory_;
  std::uint64_t* base_;
  std::uint64_t staging_words_;
  dtutils::Mutex mutex_;
  dtutils::Mutex changes_;
  Heap heap_;
  std::uint32_t buckets_ = 0;
  std::shared_ptr<Cut> cut_;
  dsfabric::UpcallId upcall_;
};

}  // namespace hashtable::detail
