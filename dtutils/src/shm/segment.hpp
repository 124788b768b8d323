// SPDX-License-Identifier: MIT
// The owner's side of a control segment: its memory file, its indices, and space for rings.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "shm/address.hpp"
#include "shm/layout.hpp"

namespace dtutils::shm {

/// Hands out indices below a bound, the longest unused one first, so that an index (and with its
/// generation, a key) comes back as late as possible. Setup only; the caller locks.
class IndexPool {
 public:
  explicit IndexPool(std::uint32_t bound) : bound_(bound) {}
  /// Throws Error when all are in use; `what` names them.
  std::uint32_t take(const char* what);
  void give(std::uint32_t index) { free_.push_back(index); }

 private:
  std::uint32_t bound_;
  std::uint32_t used_ = 0;
  std::deque<std::uint32_t> free_;
};

/// Owns the memory file, the doorbell pipe and the mapping. Setup only, any thread.
class OwnSegment {
 public:
  OwnSegment();
  OwnSegment(const OwnSegment&) = delete;
  OwnSegment& operator=(const OwnSegment&) = delete;
  ~OwnSegment();

  ControlSegment& shared() const noexcept { return *segment_; }
  const Address& address() const noexcept { return address_; }
  int doorbell_read_fd() const noexcept { return doorbell_[0]; }
  int doorbell_write_fd() const noexcept { return doorbell_[1]; }

  /// Zeroed space for at least `slots` slots (a power of two); throws Error when the arena is full.
  RingPlace allocate_ring(std::uint32_t slots, std::uint32_t slot_size);
  void free_ring(const RingPlace& ring);

  std::uint32_t take_region() { return locked_take(regions_, "memory regions"); }
  std::uint32_t take_queue_pair() { return locked_take(queue_pairs_, "queue pairs"); }
  std::uint32_t take_completion_queue() {
    return locked_take(completion_queues_, "completion queues");
  }
  std::uint32_t take_shared_receive_queue() {
    return locked_take(shared_receive_queues_, "shared receive queues");
  }
  void give_region(std::uint32_t index) { locked_give(regions_, index); }
  void give_queue_pair(std::uint32_t index) { locked_give(queue_pairs_, index); }
  void give_completion_queue(std::uint32_t index) { locked_give(completion_queues_, index); }
  void give_shared_receive_queue(std::uint32_t index) {
    locked_give(shared_receive_queues_, index);
  }

 private:
  std::uint32_t locked_take(IndexPool& pool, const char* what);
  void locked_give(IndexPool& pool, std::uint32_t index);

  std::mutex mutex_;
  int fd_ = -1;
  int doorbell_[2] = {-1, -1};
  Address address_{};
  ControlSegment* segment_ = nullptr;
  std::uint64_t arena_used_ = 0;
  /// Rings given back, by size in bytes.
  std::map<std::uint64_t, std::vector<std::uint64_t>> free_rings_;
  IndexPool regions_{kMaxRegions};
  IndexPool queue_pairs_{kMaxQueuePairs};
  IndexPool completion_queues_{kMaxCompletionQueues};
  IndexPool shared_receive_queues_{kMaxSharedReceiveQueues};
};

}  // namespace dtutils::shm
