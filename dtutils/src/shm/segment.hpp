// SPDX-License-Identifier: MIT
// The owner's side of a control segment: its memory file, its indices, and space for rings.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "shm/address.hpp"
#include "shm/arena.hpp"
#include "shm/descriptor.hpp"
#include "shm/handover.hpp"
#include "shm/index_pool.hpp"
#include "shm/layout.hpp"
#include "shm/segment_map.hpp"

namespace dtutils::shm {

class OwnSegment;

/// An index of one of the tables, given back at the end. Setup only.
class IndexLease {
 public:
  IndexLease(OwnSegment& own, IndexPool& pool);
  IndexLease(const IndexLease&) = delete;
  IndexLease& operator=(const IndexLease&) = delete;
  ~IndexLease();
  std::uint32_t get() const noexcept { return index_; }

 private:
  OwnSegment& own_;
  IndexPool& pool_;
  const std::uint32_t index_;
};

/// Zeroed space for at least `slots` slots (rounded up to a power of two), given back at the end.
/// Throws Error when the arena is full. Setup only.
class RingLease {
 public:
  RingLease(OwnSegment& own, std::uint32_t slots, std::uint32_t slot_size);
  RingLease(const RingLease&) = delete;
  RingLease& operator=(const RingLease&) = delete;
  ~RingLease();
  const RingPlace& place() const noexcept { return place_; }

 private:
  std::uint64_t bytes() const noexcept;
  void give_back() noexcept;

  OwnSegment& own_;
  RingPlace place_{};
};

/// A region of this process as it was registered, whatever the control segment says by now.
struct OwnRegion {
  std::uint64_t address;
  std::uint64_t length;
  std::uint32_t access;
  std::uint32_t pd;
};

/// Owns the memory file, its pipes and the mapping. Setup only, any thread.
class OwnSegment {
 public:
  OwnSegment();
  OwnSegment(const OwnSegment&) = delete;
  OwnSegment& operator=(const OwnSegment&) = delete;

  ControlSegment& shared() const noexcept { return map_.shared(); }
  SegmentMap& map() noexcept { return map_; }
  const Address& address() const noexcept { return address_; }
  const Pipe& doorbell() const noexcept { return doorbell_; }

  IndexLease take_region() { return {*this, regions_}; }
  IndexLease take_queue_pair() { return {*this, queue_pairs_}; }
  IndexLease take_completion_queue() { return {*this, completion_queues_}; }
  IndexLease take_shared_receive_queue() { return {*this, shared_receive_queues_}; }

  /// For queue pairs connected to others of this device.
  void add_region(std::uint32_t rkey, const OwnRegion& region);
  void remove_region(std::uint32_t rkey) noexcept;
  std::optional<OwnRegion> region(std::uint32_t rkey);

  // Around fork(2), see device.cpp.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }
  /// In a forked child: peers must not take it for the owner once that has gone.
  void abandon_in_child() noexcept {
    life_.close();
    door_.abandon_in_child();
    file_.close();
  }

 private:
  friend class IndexLease;
  friend class RingLease;

  Pipe doorbell_{"no pipe for the doorbell"};
  Pipe life_{"no pipe for the sign of life"};
  const std::uint64_t nonce_;
  ParkedFile file_;
  SegmentMap map_;
  Door door_;
  const Address address_;

  std::mutex mutex_;
  Arena arena_{kArenaSize};
  IndexPool regions_{kMaxRegions, "memory regions"};
  IndexPool queue_pairs_{kMaxQueuePairs, "queue pairs"};
  IndexPool completion_queues_{kMaxCompletionQueues, "completion queues"};
  IndexPool shared_receive_queues_{kMaxSharedReceiveQueues, "shared receive queues"};
  std::map<std::uint32_t, OwnRegion> known_regions_;
};

}  // namespace dtutils::shm
