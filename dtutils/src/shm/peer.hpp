// SPDX-License-Identifier: MIT
// Another process (or this one) as seen from here: its control segment, its pipes, its end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "shm/address.hpp"
#include "shm/bell.hpp"
#include "shm/descriptor.hpp"
#include "shm/layout.hpp"
#include "shm/region_cache.hpp"
#include "shm/segment_map.hpp"

namespace dtutils::shm {

class OwnSegment;

/// One per peer device, shared by the queue pairs connected to it.
///
/// A process id and a descriptor number come to mean something else when their process ends or
/// executes another program, so nothing is believed by its number alone: who has the control
/// segment knew the nonce of the address, pipes and memory files their inode numbers, and signals
/// and process_vm_* follow a look at the pidfd that was opened before the nonce was read.
class Peer {
 public:
  /// Maps the control segment that `address` names and begins to watch the process. `own` serves
  /// queue pairs of this process connected to each other. Throws Error that says why the peer
  /// cannot be reached. Setup only.
  Peer(const Address& address, OwnSegment& own);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const Address& address() const noexcept { return address_; }
  ControlSegment& shared() const noexcept { return map_->shared(); }
  SegmentMap& map() const noexcept { return *map_; }
  bool is_self() const noexcept { return self_ != nullptr; }
  /// This process's segment, when the peer is this device itself; else nullptr.
  OwnSegment* self() const noexcept { return self_; }

  /// True when the device was found gone: its process ended, closed it, or executed another
  /// program. None of the peer's threads touches shared memory any more. Any thread.
  bool dead() const noexcept { return dead_.load(std::memory_order_acquire); }
  void mark_dead() noexcept { dead_.store(true, std::memory_order_release); }
  /// Looks now, for who waits for the peer and cannot count on the agent. A system call.
  bool look_whether_dead() noexcept;
  /// What the agent's poll(2) watches: readable, respectively in error, when the device is gone.
  int process_fd() const noexcept { return process_.get(); }
  int life_fd() const noexcept { return life_.get(); }
  void kill_process() noexcept;

  /// The region of `rkey`, see RegionCache::find.
  RegionCache& regions() noexcept { return regions_; }

  /// False when the kernel forbids process_vm_readv on the peer (found out once, by trying).
  bool can_copy() const noexcept { return can_copy_; }
  /// Moves bytes to or from memory of the peer that cannot be mapped. 0 or an errno value; ESRCH:
  /// the peer is gone.
  int write_remote(std::uint64_t to, const void* from, std::size_t length) noexcept;
  int read_remote(void* to, std::uint64_t from, std::size_t length) noexcept;

  /// Opens a pipe of the peer, so that ringing cannot fail for want of a descriptor. One that is
  /// open already is shared. Throws Error. Setup only.
  Bell bell(const PipeName& pipe);
  /// Wakes the peer's agent. A system call. Any thread.
  void ring_agent() const noexcept { doorbell_.ring(0); }

  /// Opens what the peer has at `fd`. Empty, and errno, when that fails. Setup only.
  Descriptor open_descriptor(int fd, int flags) const noexcept;

  /// The agent's note that all queue pairs know of the death.
  bool reaped = false;

 private:
  struct OpenPipe {
    std::uint32_t inode = 0;
    std::weak_ptr<const Descriptor> descriptor;
  };

  Descriptor open_segment() const;
  void look_at_header();
  Descriptor open_pipe(const PipeName& pipe, int flags) const noexcept;

  const Address address_;
  /// A pidfd; empty: this process.
  Descriptor process_;
  OwnSegment* self_ = nullptr;
  /// Empty: this device itself.
  std::optional<SegmentMap> own_map_;
  SegmentMap* map_ = nullptr;
  Bell doorbell_;
  /// A thread of the peer that lives as long as its device.
  std::uint32_t thread_ = 0;
  Descriptor life_;
  bool can_copy_ = true;
  std::atomic<bool> dead_{false};
  RegionCache regions_{*this};

  std::mutex mutex_;
  /// By descriptor in the peer.
  std::map<std::int32_t, OpenPipe> pipes_;
};

}  // namespace dtutils::shm
