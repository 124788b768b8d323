// SPDX-License-Identifier: MIT
// How operations reach the memory of a home: from its own process, and from anywhere else.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "dsfabric/thread.hpp"
#include "dtutils/marked_read.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/transmitter.hpp"
#include "hashtable/detail/home.hpp"
#include "hashtable/detail/layout.hpp"
#include "hashtable/options.hpp"

namespace hashtable::detail {

/// The home's own memory, in place. Any thread of its process.
class LocalPort {
 public:
  /// `home` outlives it.
  explicit LocalPort(Home& home) noexcept : home_(home) {}

  /// The words of a block.
  const std::uint64_t* read(std::uint32_t index) const noexcept { return home_.word(index, 0); }
  /// One word of a block, read after all that was read before.
  std::uint64_t read_word(std::uint32_t index, std::uint32_t at) const noexcept {
    return load(home_.word(index, at));
  }
  /// Compare-and-swap of a word of a block.
  bool swap(std::uint32_t index, std::uint32_t at, std::uint64_t expected,
            std::uint64_t desired) noexcept {
    return home_.swap(home_.word(index, at), expected, desired);
  }
  /// Stores words, number `slot_word` of them last.
  void write(std::uint32_t index, std::uint32_t at, const std::uint64_t* words, std::uint32_t count,
             std::uint32_t slot_word) noexcept {
    std::uint64_t* const to = home_.word(index, at);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i != slot_word) dtutils::store_device_word(to + i, words[i]);
    }
    dtutils::store_device_word(to + slot_word, words[slot_word]);
  }

 private:
  Home& home_;
};

/// The memory of another worker, by one-sided operations, with a copy of its directory here. All
/// waits poll one Transmitter, and end when they are done or the home's process is gone: then they
/// throw PeerFailed. Owner thread only.
class RemotePort {
 public:
  /// For the region `there` of worker `home`. Setup only.
  RemotePort(dsfabric::Thread& self, dsfabric::ThreadId home,
             const dtutils::RemoteMemoryLocator& there, const Shape& shape);

  /// The bucket of a hash, as far as is known here.
  BucketWord bucket_of(std::uint64_t hash) const noexcept {
    return BucketWord{directory_[hash >> shift_]};
  }
  /// Brings that entry of the directory, or all of it, when it has moved.
  void refresh(std::uint64_t hash);

  /// A copy of a block, which stays until the next read.
  const std::uint64_t* read(std::uint32_t index) {
    if (!reader_.read(copies_.local(0, shape_.block_bytes()), place(index, 0, shape_.block_words)))
        [[unlikely]] {
      throw_gone("a read");
    }
    return copy(0);
  }
  /// One word of a block; it ends the copy of read().
  std::uint64_t read_word(std::uint32_t index, std::uint32_t at) {
    if (!reader_.read(copies_.local(0, 8), place(index, at, 1))) [[unlikely]]
      throw_gone("a read");
    return *copy(0);
  }
  /// As LocalPort.
  bool swap(std::uint32_t index, std::uint32_t at, std::uint64_t expected, std::uint64_t desired) {
    const auto before =
        transmitter_.blocking_compare_and_swap(place(index, at, 1), expected, desired);
    if (!before) [[unlikely]]
      throw_gone("a compare-and-swap");
    return *before == expected;
  }
  /// As LocalPort, by one write; it waits until the words are there.
  void write(std::uint32_t index, std::uint32_t at, const std::uint64_t* words, std::uint32_t count,
             std::uint32_t slot_word);

  /// Starts the read of a block into copy number `number`, from 1 to kInFlight: it is posted by
  /// the next start() or start_last(). Of many reads only the last one is signaled, since a
  /// connection executes them in the order of their posts.
  void start(std::uint32_t number, std::uint32_t index) noexcept {
    begin_read(copies_.local(std::size_t{number} * shape_.block_bytes(), shape_.block_bytes()),
               place(index, 0, shape_.block_words));
  }
  /// Posts the last of the reads that were started, if it was not.
  void start_last() noexcept;
  /// Then: polls until all of them are done; false: one has failed, so the connection is broken.
  bool drain() noexcept {
    const auto outcome = arrived_.outcome();
    return (outcome ? *outcome : transmitter_.wait(arrived_)) ==
           dtutils::Synchronizer::Outcome::kDone;
  }
  /// A copy of a block.
  const std::uint64_t* copy(std::uint32_t number) const noexcept {
    return reinterpret_cast<const std::uint64_t*>(copies_.data()) + number * shape_.block_words;
  }

  /// Makes room for so many words that start_words() brings. Throws Error when there is no memory.
  void expect_words(std::size_t count) { (void)large(count); }
  /// As start(): `count` words of the region, from a place in words, go to the word `at` of that
  /// room.
  void start_words(std::uint64_t place, std::size_t at, std::size_t count) noexcept {
    begin_read(large_.local(at * 8, static_cast<std::uint32_t>(count * 8)),
               region_.part(place * 8, count * 8));
  }
  /// What it brought; stays until other words are read or written.
  const std::uint64_t* words(std::size_t at) const noexcept {
    return reinterpret_cast<const std::uint64_t*>(large_.data()) + at;
  }

  /// Copies words of the region, from a place in words.
  void read_words(std::uint64_t place, std::uint64_t* to, std::size_t count);
  /// Words to a place of the region; it waits until they are there.
  void write_words(std::uint64_t place, const std::uint64_t* from, std::size_t count);

  /// The worker that it leads to.
  dsfabric::ThreadId home() const noexcept { return home_; }
  /// Throws PeerFailed.
  [[noreturn]] void throw_gone(const char* during) const;

 private:
  dtutils::RemoteMemoryLocator place(std::uint32_t index, std::uint32_t at,
                                     std::uint32_t count) const noexcept {
    return region_.part((std::uint64_t{index} * shape_.block_words + at) * 8, count * 8ul);
  }
  void begin_read(const dtutils::LocalBuffer& to,
                  const dtutils::RemoteMemoryLocator& from) noexcept {
    // One that is refused breaks the Transmitter, so the last one fails.
    if (started_.to.length != 0) (void)post_started(dtutils::kUnsignaled);
    started_ = {to, from};
  }
  bool post_started(dtutils::PostOptions options) noexcept;
  dtutils::LocalBuffer large(std::size_t count);
  void read_directory();

  dsfabric::Fabric& fabric_;
  const dsfabric::ThreadId home_;
  const Shape shape_;
  const dtutils::RemoteMemoryLocator region_;
  dtutils::Transmitter& transmitter_;
  /// For blocks, and words of them.
  const dtutils::BlockingReader reader_;
  std::uint32_t max_inline_;
  /// A read that was started, and is not posted yet; without bytes: there is none.
  struct Read {
    dtutils::LocalBuffer to{};
    dtutils::RemoteMemoryLocator from{};
  } started_;
  /// Of the last read; it keeps a failure, as the connection does.
  dtutils::Synchronizer arrived_{0};
  dtutils::RDMAMemory copies_;
  /// For words; grows.
  dtutils::RDMAMemory large_;
  DirectoryWord where_{};
  unsigned shift_ = 63;
  std::vector<std::uint64_t> directory_;
};

}  // namespace hashtable::detail
