// SPDX-License-Identifier: MIT
// The registered memory of a cache: this process' own, and that of all others.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "caching/options.hpp"
#include "dsfabric/fabric.hpp"
#include "dtutils/rdma_memory.hpp"
#include "late_peers.hpp"
#include "wire.hpp"

namespace caching::detail {

/// What a process tells the others of itself.
struct Peer {
  std::uint64_t protocol;
  std::uint64_t scheme;
  std::uint64_t buckets;
  /// Of its Node.
  std::uint64_t node;
  /// Of its registered memory.
  std::uint64_t address;
  std::uint64_t rkey;
  /// Of documents; what passes through lies behind them.
  std::uint64_t units;
  std::uint64_t lends;
  std::uint64_t in_order;
};

/// The registered memory of each process:
///
///     | buckets of the directory | touches | blocks ... | scratches, a 1 |
///
/// Constructor and connect: setup only; the rest: any thread, wait-free.
class Peers {
 public:
  /// Throws Error when there is no memory.
  Peers(dsfabric::Fabric& fabric, const CacheOptions& options);
  /// Gets to know the others: a collective. Throws Error when they differ.
  void connect(std::uint64_t node);

  dsfabric::Fabric& fabric() const noexcept { return fabric_; }
  std::uint16_t self() const noexcept { return fabric_.process().value; }
  std::uint16_t count() const noexcept { return static_cast<std::uint16_t>(all_.size()); }
  const Peer& operator[](std::uint16_t process) const noexcept { return all_[process]; }
  bool alive(std::uint16_t process) const noexcept {
    return fabric_.state({process}) == dsfabric::PeerState::kActive;
  }
  /// It lives, and its documents and its part of the directory are to be relied on.
  bool usable(std::uint16_t process) const noexcept {
    return alive(process) && doubts_.trusted(process);
  }
  Doubts& doubts() noexcept { return doubts_; }
  /// The devices of all processes read in order.
  bool in_order() const noexcept { return in_order_; }

  // --- memory of any process ------------------------------------------------------------------
  dtutils::RemoteMemoryLocator bucket(std::uint16_t process, std::uint32_t index) const noexcept {
    return at(process, std::uint64_t{index} * sizeof(Bucket), sizeof(Bucket));
  }
  dtutils::RemoteMemoryLocator touch(std::uint16_t process, std::uint32_t entry) const noexcept {
    return at(process, touches_at() + entry % kTouches, 1);
  }
  dtutils::RemoteMemoryLocator block(std::uint16_t process, std::uint32_t block, std::uint64_t from,
                                     std::uint64_t bytes) const noexcept {
    return at(process, blocks_at() + std::uint64_t{block} * kUnit + from, bytes);
  }
  std::uint32_t bucket_of(std::uint64_t key_hash) const noexcept {
    return static_cast<std::uint32_t>(key_hash >> 20) & static_cast<std::uint32_t>(buckets_ - 1);
  }
  /// Buckets of each process.
  std::uint32_t buckets() const noexcept { return static_cast<std::uint32_t>(buckets_); }
  /// The process whose part of the directory has the bucket of a key: the first usable one.
  std::uint16_t home_of(std::uint64_t key_hash) const noexcept;

  // --- memory of this process -----------------------------------------------------------------
  std::uint32_t units() const noexcept { return units_; }
  std::uint32_t passing() const noexcept { return passing_; }
  std::byte* blocks() const noexcept { return memory_.data() + blocks_at(); }
  std::uint8_t* touches() const noexcept {
    return reinterpret_cast<std::uint8_t*>(memory_.data() + touches_at());
  }
  Bucket& own_bucket(std::uint32_t index) const noexcept {
    return reinterpret_cast<Bucket*>(memory_.data())[index];
  }
  std::uint32_t lkey() const noexcept { return memory_.lkey(); }
  /// A byte that is 1.
  dtutils::LocalBuffer one() const noexcept { return memory_.local(one_at(), 1); }

  /// Where the results of small operations land: one operation's at a time.
  struct alignas(kLine) Results {
    Bucket bucket;
    std::uint64_t front;
    std::uint64_t before;
  };
  /// Takes one of 64 for its scope; waits for others when all are taken. Any thread.
  class Scratch {
   public:
    explicit Scratch(Peers& peers) noexcept;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch();
    Results& operator*() const noexcept { return *results_; }
    Results* operator->() const noexcept { return results_; }
    dtutils::LocalBuffer local(void* part, std::uint32_t bytes) const noexcept {
      return {part, bytes, peers_.lkey()};
    }

   private:
    Peers& peers_;
    unsigned number_ = 0;
    Results* results_ = nullptr;
  };
  /// Where the results of operations land that nobody waits for.
  dtutils::LocalBuffer sink() const noexcept { return memory_.local(one_at() + kLine, 8); }

 private:
  static constexpr unsigned kScratches = 64;
  std::uint64_t touches_at() const noexcept { return buckets_ * sizeof(Bucket); }
  std::uint64_t blocks_at() const noexcept { return round_up(touches_at() + kTouches, kUnit); }
  std::uint64_t scratches_at() const noexcept {
    return blocks_at() + (std::uint64_t{units_} + passing_) * kUnit;
  }
  std::uint64_t one_at() const noexcept { return scratches_at() + kScratches * sizeof(Results); }
  dtutils::RemoteMemoryLocator at(std::uint16_t process, std::uint64_t offset,
                                  std::uint64_t bytes) const noexcept {
    const Peer& peer = all_[process];
    return {peer.address + offset, bytes, static_cast<std::uint32_t>(peer.rkey), process, 0};
  }

  dsfabric::Fabric& fabric_;
  const CacheOptions options_;
  std::uint64_t buckets_ = 0;
  std::uint32_t units_ = 0;
  std::uint32_t passing_ = 0;
  bool in_order_ = true;
  dtutils::RDMAMemory memory_;
  std::vector<Peer> all_;
  Doubts doubts_;
  std::atomic<std::uint64_t> free_scratches_{~std::uint64_t{0}};
};

}  // namespace caching::detail
