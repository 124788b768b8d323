// SPDX-License-Identifier: MIT
// Reading the places of queues out of memory that other processes write, and checking them.
#include "shm/queue_view.hpp"

#include <cerrno>

#include "dtutils/error.hpp"
#include "shm/segment_map.hpp"

namespace dtutils::shm {
namespace {

[[noreturn]] void refuse_damage() {
  throw Error("shm peer", "its control segment was damaged: a queue cannot lie where it says",
              "look for a stray write in the processes of the job; restart the peer", EBADMSG);
}

RingPlace copy(const RingPlace& place) noexcept {
  return {read_once(place.offset), read_once(place.shift), read_once(place.slot_size)};
}

/// Maps the ring, after a look that it lies in the arena.
void map_ring(SegmentMap& map, const RingPlace& ring, std::uint32_t slot_size) {
  if (ring.slot_size != slot_size || ring.shift > kMaxRingShift || ring.offset % kCacheLine != 0 ||
      ring.offset > kArenaSize || ring.capacity() * slot_size > kArenaSize - ring.offset) {
    refuse_damage();
  }
  map.map_arena(ring.offset, ring.capacity() * slot_size);
}

}  // namespace

CompletionQueueView view_completion_queue(SegmentMap& map, std::uint32_t index) {
  if (index >= kMaxCompletionQueues) refuse_damage();
  CompletionQueueEntry& entry = map.shared().completion_queues[index];
  const RingPlace ring = copy(entry.ring);
  map_ring(map, ring, sizeof(CompletionSlot));
  const PipeName channel{read_once(entry.channel.fd), read_once(entry.channel.inode)};
  return {entry, index, ring, granted_completions(ring), channel};
}

ReceiveQueueView view_receive_queue(SegmentMap& map, std::uint32_t index) {
  if (index >= kMaxReceiveQueues) refuse_damage();
  ReceiveQueueEntry& entry = map.shared().receive_queues[index];
  const RingPlace ring = copy(entry.ring);
  const std::uint32_t max_sge = read_once(entry.max_sge);
  if (max_sge == 0 || max_sge > kMaxScatterGather) refuse_damage();
  map_ring(map, ring, receive_slot_size(max_sge));
  return {entry, ring, max_sge, read_once(entry.pd), read_once(entry.shared) != 0};
}

}  // namespace dtutils::shm
