// SPDX-License-Identifier: MIT
// Another process (or this one) as seen from here: its control segment and its regions, mapped.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "shm/address.hpp"
#include "shm/layout.hpp"

namespace dtutils::shm {

class OwnSegment;

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
};

/// One per peer device, shared by the queue pairs connected to it.
class Peer {
 public:
  /// Maps the control segment that `address` names and starts to watch the process. `own` serves
  /// queue pairs of this process connected to each other. Throws Error that says why the peer
  /// cannot be reached. Setup only.
  Peer(const Address& address, OwnSegment& own);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  const Address& address() const noexcept { return address_; }
  ControlSegment& shared() const noexcept { return *segment_; }
  bool is_self() const noexcept { return pid_fd_ < 0; }
  int pid_fd() const noexcept { return pid_fd_; }

  /// Set by the agent when the process ended. Any thread.
  bool dead() const noexcept { return dead_.load(std::memory_order_acquire); }
  void mark_dead() noexcept { dead_.store(true, std::memory_order_release); }

  /// The region of `rkey`, or nullptr when there is none or it cannot be mapped. The first use of a
  /// region maps it (system calls, a lock); afterwards one load. Any thread.
  const Translation* translate(std::uint32_t rkey) noexcept {
    const Translation* known = cache_[region_index(rkey)].load(std::memory_order_acquire);
    return known != nullptr && known->key == rkey ? known : translate_slowly(rkey);
  }

  /// False when the kernel forbids process_vm_readv on the peer (found out once, by trying).
  bool can_copy() const noexcept { return can_copy_; }
  /// Moves bytes to or from memory of the peer that cannot be mapped. 0 or an errno value.
  int write_remote(std::uint64_t to, const void* from, std::size_t length) noexcept;
  int read_remote(void* to, std::uint64_t from, std::size_t length) noexcept;

  /// Writes to a pipe of the peer (a completion channel or its agent's doorbell). A system call;
  /// for rare events only. Any thread.
  void ring(const PipeName& pipe, std::uint32_t message) noexcept;

 private:
  const Translation* translate_slowly(std::uint32_t rkey) noexcept;
  std::byte* map_segment(int fd, std::uint64_t inode, std::uint64_t size) noexcept;
  int open_descriptor(int fd, int flags) const noexcept;

  Address address_;
  ControlSegment* segment_ = nullptr;
  int pid_fd_ = -1;
  bool can_copy_ = true;
  std::atomic<bool> dead_{false};
  std::unique_ptr<std::atomic<const Translation*>[]> cache_;

  std::mutex mutex_;
  struct Mapping {
    std::byte* base;
    std::size_t size;
  };
  /// By (inode, descriptor): kept until the peer goes, since a translation may still be in use.
  std::map<std::pair<std::uint64_t, int>, Mapping> mappings_;
  std::vector<std::unique_ptr<const Translation>> translations_;
  std::map<std::pair<std::int32_t, std::uint32_t>, int> pipes_;
};

}  // namespace dtutils::shm
