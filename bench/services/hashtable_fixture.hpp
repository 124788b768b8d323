// SPDX-License-Identifier: MIT
// What the cases of hashtable share: a table that both processes make, and keys of one home.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/fabric/calls.hpp"
#include "dtutils/marked_read.hpp"
#include "dtutils/rdma_memory.hpp"
#include "hashtable/hashtable.hpp"

namespace services_bench {

using Table = hashtable::HashTable<std::uint64_t, std::uint64_t>;
using hashtable::Operation;
using hashtable::Status;

/// The table of a case; in each process its own object. Both processes call all of it at once.
class TableFixture {
 public:
  /// Makes a table. Collective.
  void make(dsfabric::Thread& self, const hashtable::Options& options) {
    table = std::make_unique<Table>(self, options);
  }
  /// Ends it. Collective.
  void end(dsfabric::Thread& self) {
    self.barrier();
    table.reset();
  }
  std::unique_ptr<Table> table;
  /// Rounds so far, for cases whose rounds have other keys each.
  std::uint64_t rounds = 0;
};

/// `count` keys, from `from` on, whose home is `rank`.
inline std::vector<std::uint64_t> keys_of(std::uint32_t rank, std::uint32_t parts,
                                          std::size_t count, std::uint64_t from = 1) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = from; keys.size() < count; ++key) {
    if (hashtable::detail::home_of(hashtable::detail::hash_of(&key, 1), parts) == rank) {
      keys.push_back(key);
    }
  }
  return keys;
}

/// What a process would do by hand at the same places of the same memory.
class ByHand {
 public:
  ByHand(dsfabric::Thread& self, Table& table)
      : to_(1 - table.detail().rank()),
        region_(table.detail().region_of(to_)),
        transmitter_(self.transmitter(table.detail().thread_of(to_).process)),
        reader_(transmitter_),
        memory_(self.fabric().general_allocator().allocate(Table::kBlockBytes)) {}

  /// The address of a word of the block that a key is looked for in.
  dtutils::RemoteMemoryLocator place(Table& table, std::uint64_t key, std::uint32_t word,
                                     std::uint32_t words) const {
    const std::uint64_t hash = hashtable::detail::hash_of(&key, 1);
    const auto block = table.detail().port(to_).bucket_of(hash);
    return region_.part(std::uint64_t{block.index()} * Table::kBlockBytes + word * 8ul,
                        words * 8ul);
  }
  /// Of the slot that an insert of the key claims first.
  dtutils::RemoteMemoryLocator slot(Table& table, std::uint64_t key) const {
    constexpr auto kShape = hashtable::detail::shape_of(1, 1);
    const std::uint64_t hash = hashtable::detail::hash_of(&key, 1);
    const std::uint32_t slot = hashtable::detail::first_slot(hash, kShape.slots);
    return place(table, key, kShape.word_at(slot), Table::kEntryBytes / 8);
  }
  /// At most a block.
  void read(const dtutils::RemoteMemoryLocator& block) {
    fabric_bench::require(transmitter_.blocking_read(
                              memory_.local(0, static_cast<std::uint32_t>(block.length)), block),
                          "a read failed");
  }
  /// The same, without a completion where the device allows it.
  void read_marked(const dtutils::RemoteMemoryLocator& block) {
    fabric_bench::require(
        reader_.read(memory_.local(0, static_cast<std::uint32_t>(block.length)), block),
        "a read failed");
  }
  std::uint64_t swap(const dtutils::RemoteMemoryLocator& word, std::uint64_t expected,
                     std::uint64_t desired) {
    const auto before = transmitter_.blocking_compare_and_swap(word, expected, desired);
    fabric_bench::require(before.has_value(), "a compare-and-swap failed");
    return *before;
  }
  /// Until it is there.
  void write(const dtutils::RemoteMemoryLocator& entry) {
    dtutils::Synchronizer done(1);
    fabric_bench::require(transmitter_.write({entry_, Table::kEntryBytes, 0}, entry,
                                             dtutils::PostOptions(done, dtutils::kInlined)) &&
                              transmitter_.wait(done) == dtutils::Synchronizer::Outcome::kDone,
                          "a write failed");
  }
  /// The same two, posted together.
  void write_and_swap(const dtutils::RemoteMemoryLocator& entry,
                      const dtutils::RemoteMemoryLocator& word, std::uint64_t expected,
                      std::uint64_t desired) {
    fabric_bench::require(
        transmitter_.write({entry_, Table::kEntryBytes, 0}, entry, dtutils::kInlined),
        "a write failed");
    (void)swap(word, expected, desired);
  }

 private:
  std::uint32_t to_;
  dtutils::RemoteMemoryLocator region_;
  dtutils::Transmitter& transmitter_;
  dtutils::BlockingReader reader_;
  dtutils::RDMAMemory memory_;
  std::uint64_t entry_[Table::kEntryBytes / 8] = {};
};

}  // namespace services_bench
