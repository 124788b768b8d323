// SPDX-License-Identifier: MIT
// The cache that the processes of one host share: copies of data, and the versions that puts push.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/hashed_word.hpp"
#include "dtutils/rdma_memory.hpp"
#include "sharing/datum.hpp"
#include "sharing/detail/seen_copy.hpp"
#include "sharing/space.hpp"

namespace sharing::detail {

/// What a process tells the others; only leaders have a cache.
struct Hello {
  std::uint64_t protocol = 0;
  std::uint64_t bytes = 0;
  std::uint64_t data = 0;
  std::uint64_t cached = 0;
  std::uint64_t cached_bytes = 0;
  std::uint64_t node = 0;
  // The memory of a leader: for puts of everybody, and as a file for its host.
  std::uint64_t address = 0;
  std::uint64_t rkey = 0;
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
  std::uint64_t segment_bytes = 0;
  std::int64_t fd = -1;
};

/// Memory of the leader, which the processes of the host map:
///
///     | for each datum of the job: version pushed, subscribed | entry: head, bytes | ...
///
/// An entry is filled by one process at a time; others read it meanwhile, and see by its sequence
/// number, which is odd then, that they must not believe it. When the filler dies, the entry is
/// lost: nobody takes it over, since a process that was given up and was only stopped goes on
/// filling, and no broken connection keeps it from memory that it has mapped. Any thread; nothing
/// waits.
class HostCache {
 public:
  /// The words of a datum.
  struct Pushed {
    /// A hashed word of the version of the newest put that has returned, as far as pushed.
    std::uint64_t version;
    /// identity_of the datum that this host is subscribed to; 0: none.
    std::uint64_t subscribed;
  };

  /// Memory, when this process leads its host. Throws Error when there is none.
  HostCache(dsfabric::Fabric& fabric, const SpaceOptions& options);
  HostCache(const HostCache&) = delete;
  HostCache& operator=(const HostCache&) = delete;
  ~HostCache();
  /// For the others.
  Hello hello() const;
  /// Maps the cache of the host. Throws Error when that cannot be done.
  void connect(const std::vector<Hello>& all);

  /// Where a copy of a datum would be; it is none that is believed.
  SeenCopy look_for(const Datum& datum) const noexcept {
    const Head& head = this->head(datum);
    SeenCopy seen;
    seen.sequence = &head.sequence;
    seen.bytes = bytes_of(head);
    seen.pushed = &words(datum).version;
    return seen;
  }
  /// Fills `seen` with the copy of the datum that is there now; false when there is none.
  bool see(const Datum& datum, SeenCopy& seen) const noexcept {
    if (datum.bytes > options_.cached_bytes) return false;
    const Head& head = this->head(datum);
    // Acquire: pairs with the release of who has filled it.
    const std::uint64_t sequence = load_shared(head.sequence, std::memory_order_acquire);
    if (sequence % 2 != 0 || load_shared(head.place) != datum.control.place ||
        load_shared(head.tag) != tag_of(datum)) {
      return false;
    }
    seen.version = load_shared(head.version);
    seen.fetched = std::chrono::nanoseconds(load_shared(head.fetched));
    // Behind all of the head; pairs with the fence behind the odd number.
    fence_shared(std::memory_order_acquire);
    if (load_shared(head.sequence) != sequence) return false;
    seen.sequence_then = sequence;
    return true;
  }
  /// Keeps a copy, unless another process is filling that entry.
  void keep(const Datum& datum, std::span<const std::byte> from, std::uint64_t version,
            std::chrono::nanoseconds fetched) noexcept;

  /// The words of a datum here; `pushed` those at the host of that number, for a put.
  Pushed& words(const Datum& datum) const noexcept { return words_[number_of(datum)]; }
  dtutils::RemoteMemoryLocator pushed(unsigned host, const Datum& datum) const noexcept;
  /// Tells this host of a version, unless it knows of a newer one: who tells may have been stopped.
  void push_here(const Datum& datum, std::uint64_t version) const noexcept;
  /// The version in a word of `Pushed`; false when it is not whole.
  static bool version_of(std::uint64_t word, const Datum& datum, std::uint64_t& version) noexcept {
    version = word & dtutils::kHashedMask;
    return dtutils::is_hashed_word(word, datum.index);
  }
  static std::uint64_t word_of(const Datum& datum, std::uint64_t version) noexcept {
    return dtutils::hashed_word(version & dtutils::kHashedMask, datum.index);
  }
  static std::uint64_t tag_of(const Datum& datum) noexcept { return datum.control.tag; }
  /// Of the place and its generation.
  static std::uint64_t identity_of(const Datum& datum) noexcept {
    return (datum.control.place + 1) * 0x9e3779b97f4a7c15 + datum.control.tag;
  }

  /// Whether puts reach this host: its leader lives, and it has one of the first 64 numbers.
  bool reached() const noexcept {
    return host_ < kHosts && (leads() || !fabric_.failed(leader_of(host_)));
  }
  /// Whether this process is the leader.
  bool leads() const noexcept { return static_cast<bool>(memory_); }
  unsigned host() const noexcept { return host_; }
  dsfabric::ProcessId leader_of(unsigned host) const noexcept { return {leaders_[host]}; }
  /// Those that puts can tell.
  unsigned hosts() const noexcept {
    return std::min(static_cast<unsigned>(leaders_.size()), kHosts);
  }

 private:
  /// Hosts that a word of a datum can name.
  static constexpr unsigned kHosts = 64;

  struct alignas(64) Head {
    /// Process that fills it, plus 1.
    std::uint64_t filler;
    std::uint64_t sequence;
    std::uint64_t place;
    std::uint64_t tag;
    std::uint64_t version;
    std::int64_t fetched;
  };

  static std::byte* bytes_of(const Head& head) noexcept {
    return reinterpret_cast<std::byte*>(const_cast<Head*>(&head)) + sizeof(Head);
  }
  std::uint64_t words_bytes() const noexcept;
  std::uint64_t bytes() const noexcept;
  /// Data of one home follow each other.
  std::uint64_t number_of(const Datum& datum) const noexcept {
    return std::uint64_t{datum.home().value} * options_.data + datum.index;
  }
  /// As many data as there are entries have one each.
  Head& head(const Datum& datum) const noexcept {
    return *reinterpret_cast<Head*>(entries_ + (number_of(datum) & (cached_ - 1)) * entry_bytes_);
  }
  void use(std::byte* cache) noexcept;

  dsfabric::Fabric& fabric_;
  const SpaceOptions options_;
  const std::uint32_t cached_;
  const std::uint64_t entry_bytes_;
  dtutils::RDMAMemory memory_;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  Pushed* words_ = nullptr;
  std::byte* entries_ = nullptr;
  std::vector<std::uint16_t> leaders_;
  std::vector<Hello> of_leaders_;
  unsigned host_ = 0;
};

}  // namespace sharing::detail
