// SPDX-License-Identifier: MIT
// Memory of another worker that is used as if a table lay there, to measure what that takes.
#pragma once

#include <cstdint>
#include <vector>

#include "dsfabric/thread.hpp"
#include "dtutils/marked_read.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/transmitter.hpp"
#include "hashtable/cost.hpp"
#include "hashtable/detail/attempt.hpp"
#include "hashtable/detail/home.hpp"

namespace hashtable::cost {

/// Places of the next worker, each as large as a block. The first of them is for operations on one
/// line. All methods: owner thread only; they throw PeerFailed.
class Places {
 public:
  /// A collective. Throws Error when there is no memory. Setup only.
  Places(dsfabric::Thread& self, dsfabric::ThreadId to, const Subject& subject);

  /// Makes this worker the last one that wrote each line, as it is the last one in a table that it
  /// changes; and brings what of them fits into its caches.
  void take_lines();
  /// Goes on to another place, in an order like that of hashes, which neither a processor nor a
  /// device can foresee, as they could if all were equally far apart. The directory of a table
  /// stands between `hash` and its place, so this does not begin before the hash is there.
  void next(std::uint64_t hash) noexcept {
    turn_ = turn_ * 1'664'525 + 1'013'904'223;
    place_ = directory_[(hash + turn_) & (places_ - 1)];
  }
  /// Goes to the first place.
  void first() noexcept { place_ = 0; }

  /// RDMA operations on the place, until they are done.
  void read() { read(block_bytes_); }
  /// Of its first word.
  void read_word() { read(8); }
  /// Compare-and-swap of a word of it, counted from its begin.
  void swap(std::uint32_t word, std::uint64_t expected, std::uint64_t desired);
  /// Fetch-and-add of its first word.
  void add(std::uint64_t addend);
  /// Of an entry, from such a word on.
  void write(std::uint32_t word);

 private:
  dtutils::RemoteMemoryLocator at(std::uint32_t word, std::uint32_t bytes) const noexcept {
    // Slots begin at any word, and lie within the place, however small it is.
    const std::uint32_t words = (stride_ - entry_bytes_) / 8;
    return there_.part(place_ * stride_ + word % words * 8ul, bytes);
  }
  void read(std::uint32_t bytes) { require(reader_.read(here_.local(0, bytes), at(0, bytes))); }
  void require(bool done) const {
    if (!done) throw_gone();
  }
  [[noreturn]] void throw_gone() const;

  dsfabric::Thread& self_;
  const dsfabric::ThreadId to_;
  const std::uint32_t block_bytes_;
  const std::uint32_t entry_bytes_;
  /// From one place to the next one.
  const std::uint32_t stride_;
  /// A power of two.
  const std::uint32_t places_;
  std::uint64_t place_ = 0;
  std::uint64_t turn_ = 0;
  /// What the worker before this one works on.
  dtutils::RDMAMemory memory_;
  dtutils::RDMAMemory here_;
  dtutils::RemoteMemoryLocator there_{};
  dtutils::Transmitter& transmitter_;
  /// Reads end as those of a table (detail::RemotePort).
  const dtutils::BlockingReader reader_;
  /// The place of each entry.
  std::vector<std::uint64_t> directory_;
};

/// What an operation of a table meets at one place: a block with the content of one of a home here,
/// which never changes. For one operation.
class PlacePort {
 public:
  /// `hash`: of its key. `taken`: the first compare-and-swap finds another word than it expects.
  PlacePort(Places& places, detail::Home& home, std::uint64_t hash, bool taken) noexcept
      : places_(places), home_(home), taken_(taken) {
    places_.next(hash);
  }
  /// The words of a block.
  const std::uint64_t* read(std::uint32_t index) {
    places_.read();
    return home_.word(index, 0);
  }
  /// One word of a block.
  std::uint64_t read_word(std::uint32_t index, std::uint32_t at) const noexcept {
    return detail::load(home_.word(index, at));
  }
  /// Compare-and-swap of a word of a block: there it has the value 0 before and afterwards.
  bool swap(std::uint32_t /*index*/, std::uint32_t at, std::uint64_t /*expected*/,
            std::uint64_t desired) {
    asm volatile("" : : "r"(desired));
    places_.swap(at, 0, 0);
    const bool taken = taken_;
    taken_ = false;
    return !taken;
  }
  /// Words of an entry: there they are 0.
  void write(std::uint32_t /*index*/, std::uint32_t at, const std::uint64_t* words,
             std::uint32_t /*count*/, std::uint32_t /*slot_word*/) {
    asm volatile("" : : "r"(words) : "memory");
    places_.write(at);
  }

 private:
  Places& places_;
  detail::Home& home_;
  bool taken_;
};

}  // namespace hashtable::cost
