// SPDX-License-Identifier: MIT
// The regions of one peer device as they are mapped here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "shm/descriptor.hpp"
#include "shm/layout.hpp"

namespace dtutils::shm {

class Peer;

/// Why a region that the peer has cannot be reached.
enum class Refusal : std::uint8_t {
  kNone,
  /// It cannot be mapped here: permissions, address space.
  kCannotMap,
  /// What the peer's control segment says of it cannot be.
  kDamaged,
};

/// A region of the peer, ready for access. Immutable once made.
struct Translation {
  std::uint32_t key;
  std::uint32_t access;
  std::uint32_t pd;
  std::uint64_t begin;
  std::uint64_t length;
  /// Where `begin` is mapped here; nullptr: go by process_vm_readv/writev.
  std::byte* local;
  /// The peer's table entry: its key changes when the region is deregistered.
  const RegionEntry* live;
  /// The memory file that `local` lies in, mapped whole and shared by all regions in it.
  std::shared_ptr<const Mapping> file;

  /// seq_cst: after the send lock was taken; pairs with dereg_mr, see send_lock.hpp.
  bool is_live() const noexcept { return live->key.load(std::memory_order_seq_cst) == key; }
};

/// Translations by index of their key. A pointer to one may be used, and kept in a queue pair, by
/// whoever holds that queue pair's send lock. Once the peer deregistered the region, or
/// died or closed the last queue pair, the agent takes it away in three steps: out of the cache
/// (`set_dead_aside`), out of every queue pair (each under its send lock), and then out of memory
/// (`release_dead`), with the mapping of its file when nothing else is in it. So memory that the
/// peer freed does not stay pinned by us.
class RegionCache {
 public:
  explicit RegionCache(Peer& peer);

  /// The region of `rkey`, or nullptr when there is none, or when it is refused for the reason that
  /// `refusal` becomes. The first use of a region maps it (system calls, a lock); afterwards one
  /// load. Any thread.
  const Translation* find(std::uint32_t rkey, Refusal& refusal) noexcept {
    const Translation* known = cache_[region_index(rkey)].load(std::memory_order_acquire);
    return known != nullptr && known->key == rkey ? known : find_slowly(rkey, refusal);
  }

  // The agent only.
  /// `all`: also those that are still registered, since nobody can reach the peer any more.
  void set_dead_aside(bool all) noexcept;
  bool all_set_aside() const noexcept { return all_set_aside_; }
  void release_dead() noexcept;

 private:
  /// (inode, descriptor in the peer).
  using FileName = std::pair<std::uint64_t, std::int32_t>;
  struct Free {
    void operator()(void* table) const noexcept { std::free(table); }
  };

  /// What the peer's table says of a region, read once.
  struct Claim;

  const Translation* find_slowly(std::uint32_t rkey, Refusal& refusal) noexcept;
  Refusal translate(const RegionEntry& entry, Translation& made);
  Refusal translate_own(Translation& made);
  std::shared_ptr<const Mapping> map(const Claim& claim, Refusal& refusal);

  Peer& peer_;
  /// From calloc(3), so that a page of it costs memory when it is first used.
  std::unique_ptr<std::atomic<const Translation*>[], Free> cache_;

  std::mutex mutex_;
  std::list<Translation> translations_;
  std::list<Translation> dead_;
  std::map<FileName, std::weak_ptr<const Mapping>> files_;
  bool all_set_aside_ = false;
};

}  // namespace dtutils::shm
