// SPDX-License-Identifier: MIT
// Home: its memory, blocks, and pieces of values.
#include "hashtable/detail/home.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "dsfabric/own_connections.hpp"
#include "dtutils/error.hpp"
#include "dtutils/option_memory.hpp"

namespace hashtable::detail {

std::uint64_t check_bytes(const std::uint64_t* words, std::size_t count) noexcept {
  std::uint64_t check = count + 0x1d8e'4e27'c47d'124f;
  for (std::size_t i = 0; i < count; ++i) {
    check = mix(check ^ load(words + i), 0x9e6c'63d0'876a'68dd) + 0x3c79'ac49'2ba7'b653;
  }
  return check | 1;
}

namespace {

/// What places of 32 bits, in words, can name.
constexpr std::size_t kMaxBytes = std::size_t{8} << 32;

dtutils::RDMAMemory memory_of(dsfabric::Thread& self, const Options& options) {
  if (options.bytes > kMaxBytes) {
    throw dtutils::Error("hashtable::HashTable",
                         fmt::format("a part cannot have {} bytes", options.bytes),
                         fmt::format("set Options::bytes to {} at most", kMaxBytes));
  }
  return dtutils::allocate_for_option(self.fabric().general_allocator(self.zone()), options.bytes,
                                      "hashtable::HashTable", "Options::bytes");
}

}  // namespace

Home::Home(dsfabric::Thread& self, const Shape& shape, const Options& options, std::size_t staging)
    : fabric_(self.fabric()),
      shape_(shape),
      options_(options),
      rank_(static_cast<std::uint16_t>(fabric_.rank_of(self.id()))),
      cpu_atomics_(fabric_.device().atomics_with_cpu),
      memory_(memory_of(self, options)),
      base_(reinterpret_cast<std::uint64_t*>(memory_.data())),
      staging_words_((staging + 7) / 8),
      heap_(options.bytes / 8, kHeader + staging_words_ * fabric_.total_threads(),
            shape.block_words),
      cut_(std::make_shared<Cut>(fabric_.founders())) {
  const auto buckets = std::bit_ceil(std::max<std::uint64_t>(options.buckets, 2));
  const auto depth = static_cast<unsigned>(std::countr_zero(buckets));
  const std::uint64_t needed = (kHeader + staging_words_ * fabric_.total_threads() +
                                buckets * (1 + shape.block_words) + shape.block_words + 8) *
                               8;
  if (staging > options.bytes || needed > options.bytes || depth > kMaxDepth) {
    throw dtutils::Error(
        "hashtable::HashTable",
        fmt::format(
            "a part of {} buckets needs {} bytes, {} of them for entries that workers bring, "
            "and has {}",
            buckets, needed, staging_words_ * fabric_.total_threads() * 8, options.bytes),
        "raise Options::bytes, or lower Options::buckets or Options::max_entry");
  }
  std::fill_n(base_, kHeader, 0);
  const std::uint64_t place = *heap_.take(buckets);
  for (std::uint64_t i = 0; i < buckets; ++i) {
    store(base_ + place + i, new_block(depth, i << (64 - depth)).raw);
  }
  buckets_ = static_cast<std::uint32_t>(buckets);
  store(base_, DirectoryWord::make(depth, place).raw);
  // By which its workers write into slots that they have claimed from each other.
  dsfabric::watch_own_connections(fabric_);
  upcall_ = fabric_.on_failure(
      [weak = std::weak_ptr(cut_)](dsfabric::ProcessId process, const std::string&) {
        // The fabric has broken the connections before; newcomers to an elastic job have no part.
        // Release: pairs with gone().
        const auto cut = weak.lock();
        if (cut && process.value < cut->processes.size()) {
          cut->processes[process.value].store(true, std::memory_order_release);
        }
      });
}

Home::~Home() { fabric_.remove_upcall(upcall_); }

BucketWord Home::bucket_of(std::uint64_t hash) const noexcept {
  for (;;) {
    const DirectoryWord here = directory();
    const BucketWord bucket{load(base_ + here.place() + entry_of(hash, here.depth()))};
    // The directory was there all the time: what was read was an entry.
    if (directory() == here) return bucket;
  }
}

bool Home::swap(std::uint64_t* word, std::uint64_t expected, std::uint64_t desired) noexcept {
  if (cpu_atomics_) {
    // Acquire-release: pairs with the loads of who sees the new state.
    return std::atomic_ref(*word).compare_exchange_strong(expected, desired,
                                                          std::memory_order_acq_rel);
  }
  dtutils::RemoteMemoryLocator at = memory_.remote();
  at.address = reinterpret_cast<std::uint64_t>(word);
  at.length = sizeof *word;
  return fabric_.transmitter(fabric_.process()).blocking_compare_and_swap(at, expected, desired) ==
         expected;
}

BucketWord Home::new_block(unsigned depth, std::uint64_t range) noexcept {
  const auto taken = heap_.take_block();
  if (!taken) return {};
  const BucketWord block = BucketWord::make(taken->index(), depth, taken->life());
  std::uint64_t* const words = word(block.index(), 0);
  for (std::uint32_t i = 0; i < shape_.slots; ++i) {
    store(words + shape_.word_at(i), SlotWord::empty(block.birth()).raw);
  }
  store(words + 1, BucketWord{}.held_by(block.life()).raw);
  store(words + 2, range);
  store(words, block.life());
  return block;
}

std::vector<BucketWord> Home::chain_of(BucketWord bucket) const {
  std::vector<BucketWord> chain;
  for (; bucket; bucket = BucketWord{load(word(bucket.index(), 1))}.itself()) {
    chain.push_back(bucket);
  }
  return chain;
}

std::optional<std::uint64_t> Home::put_piece(std::span<const std::uint64_t> words) {
  const std::scoped_lock lock(mutex_);
  const auto place = heap_.take(words.size());
  if (place) {
    for (std::size_t i = 0; i < words.size(); ++i) store(base_ + *place + i, words[i]);
  }
  return place;
}

void Home::free_piece(std::uint64_t place, std::uint64_t words) {
  const std::scoped_lock lock(mutex_);
  heap_.give(place, words);
}

std::uint64_t Home::pieces() {
  const std::scoped_lock lock(mutex_);
  return heap_.taken() - ((std::uint64_t{1} << directory().depth()) + 7) / 8 * 8;
}

}  // namespace hashtable::detail
