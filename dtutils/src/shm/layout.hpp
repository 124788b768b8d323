// SPDX-License-Identifier: MIT
// The control segment: the tables that a process on the shm device shares with its peers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dtutils/limits.hpp"
#include "shm/slot_word.hpp"
#include "software/limits.hpp"

namespace dtutils::shm {

// What it has in common with the simulated device.
using namespace software;  // NOLINT: a private header

// One segment per opened device, in a memory file that peers map as far as they use it, see
// segment_map.hpp. "Owner" is the process that created the segment; "peer" is a process with a
// queue pair connected to one of the owner's. Peers of another layout are refused: every structure
// below stands in layout_digest.cpp, too.
//
// Whoever has the segment mapped can write anything into it at any time. So what is read here may
// be wrong, but it must not lead the reader outside of its memory: an index is masked or checked,
// and where a ring or a region lies is read once, checked, and kept in memory of the reader's own
// (queue_view.hpp, region_cache.cpp).
inline constexpr std::uint64_t kMagic = 0x616d616972614321;

inline constexpr std::uint32_t kIndexBits = 14;
inline constexpr std::uint32_t kMaxQueuePairs = 1u << kIndexBits;
inline constexpr std::uint32_t kMaxCompletionQueues = 1u << 14;
inline constexpr std::uint32_t kMaxSharedReceiveQueues = 1u << 12;
/// The receive queue of queue pair i is entry i; shared ones follow.
inline constexpr std::uint32_t kMaxReceiveQueues = kMaxQueuePairs + kMaxSharedReceiveQueues;
inline constexpr std::size_t kArenaSize = std::size_t{1} << 30;

inline constexpr std::uint32_t kMaxRingShift = 17;
static_assert(kSlotsPerEntry * kMaxCompletions == 1u << kMaxRingShift);

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// A load from memory that others may write at any time: what was checked is what is used.
template <class Field>
Field read_once(const Field& field) noexcept {
  return *const_cast<const volatile Field*>(&field);
}

/// The write end of a pipe of the owner, which peers open through /proc.
struct PipeName {
  /// In the owner's descriptor table; -1: none.
  std::int32_t fd;
  /// Low bits of its inode number: who opens it checks that the descriptor still means this pipe,
  /// and not, say, a file of the user.
  std::uint32_t inode;
};

struct alignas(kCacheLine) Header {
  std::uint64_t magic;
  /// See layout_digest.hpp.
  std::uint64_t layout;
  std::uint64_t nonce;
  std::uint32_t pid;
  /// A thread that lives as long as the device: the first one of a process may end before.
  std::uint32_t thread;
  /// Wakes the owner's agent thread.
  PipeName doorbell;
  /// Has no reader once the owner ended, closed the device or went on to another program (exec).
  PipeName life;
  /// Where the owner has this segment mapped: target of the process_vm probe.
  std::uint64_t owner_address;
};

/// A memory registration. Written by the owner only; `key` last, and first when it ends.
struct alignas(kCacheLine) RegionEntry {
  /// The rkey, or 0 when the entry is free. An operation that found the key valid while holding its
  /// send lock is finished before dereg_mr returns.
  std::atomic<std::uint32_t> key;
  std::uint32_t access;
  std::uint32_t pd;
  /// Memory file of the region in the owner's descriptor table; -1: reach it by process_vm.
  std::int32_t fd;
  std::uint64_t address;
  std::uint64_t length;
  std::uint64_t inode;
  std::uint64_t segment_size;
  std::uint64_t segment_offset;
  /// Set by a peer that is about to map the region: it must be waited for and told when it ends.
  std::atomic<std::uint32_t> in_use;
};

/// A queue pair. Line 0 is written by the owner in set-up (and `gate`, `state` by whoever breaks
/// the pair); line 1 belongs to the owner's senders; line 2 to the connected peer's sender.
struct alignas(kCacheLine) QueuePairEntry {
  /// Nonzero while the peer may act on this pair: gate_value(peer's nonce, peer's number, own
  /// number, own rq_psn), from the peer's first request on with its incarnation (claimed_gate).
  std::atomic<std::uint64_t> gate;
  std::atomic<std::uint32_t> qp_num;
  /// An ibv_qp_state.
  std::atomic<std::uint32_t> state;
  std::uint32_t pd;
  /// Rights of the peer; the owner may change them at any time.
  std::atomic<std::uint32_t> access;
  std::uint32_t receive_queue;
  std::uint32_t receive_cq;
  /// Time between two tries when no receive is posted here, in microseconds.
  std::atomic<std::uint32_t> rnr_timer_us;

  /// Odd while a thread of the owner posts or executes on this pair, see send_lock.hpp.
  alignas(kCacheLine) std::atomic<std::uint32_t> send_lock;
  /// Send queue positions below this have been given back by polled completions.
  std::atomic<std::uint64_t> sq_retired;

  /// A receive that the peer's sender took out and did not complete yet; completed as flushed by
  /// the owner's agent if the peer dies meanwhile (receive.cpp).
  alignas(kCacheLine) std::atomic<std::uint64_t> in_flight;
  std::atomic<std::uint64_t> in_flight_wr_id;
  /// Position claimed in the receive completion queue plus one, or 0.
  std::atomic<std::uint64_t> in_flight_completion;
};

/// The key under which `sender`, of the device with this nonce, may act on `receiver`; never 0.
/// Queue pair numbers repeat from process to process, nonces do not. The packet sequence number of
/// the first request belongs to it, since both sides have to name the same.
constexpr std::uint64_t gate_value(std::uint64_t nonce, std::uint32_t sender,
                                   std::uint32_t receiver, std::uint32_t psn) noexcept {
  const std::uint64_t pair = (static_cast<std::uint64_t>(sender) << 24) | receiver;
  const std::uint64_t mixed = nonce ^ pair ^ (psn * std::uint64_t{0x9e3779b97f4a7c15} >> 16);
  return (std::uint64_t{1} << 63) | (mixed & ((std::uint64_t{1} << 48) - 1));
}

/// What a sender makes of the gate by its first request. A side that is reset and connected anew
/// lost count of the packets; so it opens a gate that the peer claimed no more, or it comes with an
/// incarnation that did not claim the peer's gate, and neither can go on.
constexpr std::uint64_t claimed_gate(std::uint64_t gate, std::uint32_t incarnation) noexcept {
  return gate | (std::uint64_t{incarnation} << 48);
}
constexpr std::uint64_t unclaimed_gate(std::uint64_t gate) noexcept {
  return gate & ~(std::uint64_t{0x7fff} << 48);
}
/// 15 bits, never 0.
constexpr std::uint32_t next_incarnation(std::uint32_t incarnation) noexcept {
  return incarnation % 0x7fff + 1;
}

/// Any queue of slots in the arena.
struct RingPlace {
  std::uint64_t offset;
  std::uint32_t shift;
  std::uint32_t slot_size;

  std::uint64_t capacity() const noexcept { return std::uint64_t{1} << shift; }
};

struct alignas(kCacheLine) CompletionQueueEntry {
  RingPlace ring;
  /// The completion channel.
  PipeName channel;
  /// Set for good by a producer that found no room.
  std::atomic<std::uint32_t> overrun;
  alignas(kCacheLine) std::atomic<std::uint64_t> tail_hint;
  alignas(kCacheLine) std::atomic<std::uint64_t> head_hint;
  /// The word of a claimed slot at which a poll has ended, and when one saw it first, in
  /// nanoseconds. For polls only, as head_hint.
  std::atomic<std::uint64_t> claim_seen;
  std::atomic<std::uint64_t> claim_seen_at;
  /// 0: no event wanted, 1: at the next completion, 2: at the next solicited or failed one.
  alignas(kCacheLine) std::atomic<std::uint32_t> armed;
};

/// One completion: the fields of ibv_wc as words, so that a reader that loses the race for a slot
/// reads stale values, never a data race.
struct alignas(kCacheLine) CompletionSlot {
  std::atomic<std::uint64_t> word;
  std::atomic<std::uint64_t> wr_id;
  std::atomic<std::uint64_t> status_opcode;
  std::atomic<std::uint64_t> length_immediate;
  std::atomic<std::uint64_t> numbers;
  std::atomic<std::uint64_t> flags_vendor;
  /// Send queue positions that this completion gives back; 0 for receives.
  std::atomic<std::uint64_t> sq_position;
};
static_assert(sizeof(CompletionSlot) == kCacheLine);

struct alignas(kCacheLine) ReceiveQueueEntry {
  RingPlace ring;
  std::uint32_t max_sge;
  std::uint32_t pd;
  /// Several senders take from it: slots that they hold are skipped, see slot_word.hpp.
  std::uint32_t shared;
  alignas(kCacheLine) std::atomic<std::uint64_t> tail_hint;
  alignas(kCacheLine) std::atomic<std::uint64_t> head_hint;
};

/// One posted receive; `max_sge` pairs {address, length | lkey << 32} follow.
struct ReceiveSlot {
  std::atomic<std::uint64_t> word;
  std::atomic<std::uint64_t> wr_id;
  std::atomic<std::uint64_t> sge_count;
  std::atomic<std::uint64_t> unused;

  struct Element {
    std::atomic<std::uint64_t> address;
    std::atomic<std::uint64_t> length_lkey;
  };
  Element* elements() noexcept { return reinterpret_cast<Element*>(this + 1); }
};
static_assert(sizeof(ReceiveSlot) == 32 && sizeof(ReceiveSlot::Element) == 16);

struct ControlSegment {
  alignas(kPage) Header header;
  alignas(kPage) RegionEntry regions[kMaxRegions];
  alignas(kPage) QueuePairEntry queue_pairs[kMaxQueuePairs];
  alignas(kPage) CompletionQueueEntry completion_queues[kMaxCompletionQueues];
  alignas(kPage) ReceiveQueueEntry receive_queues[kMaxReceiveQueues];
  alignas(kPage) std::byte arena[kArenaSize];

  template <class Slot>
  Slot* slot(const RingPlace& ring, std::uint64_t position) noexcept {
    const std::uint64_t index = position & (ring.capacity() - 1);
    return reinterpret_cast<Slot*>(arena + ring.offset + index * ring.slot_size);
  }
};

static_assert(std::is_standard_layout_v<Header> && std::is_standard_layout_v<RegionEntry>);
static_assert(sizeof(RegionEntry) == kCacheLine && sizeof(QueuePairEntry) == 3 * kCacheLine);

/// Queue pair numbers have 24 bits: generation << 14 | index; generation is never 0.
constexpr std::uint32_t queue_pair_index(std::uint32_t qp_num) noexcept {
  return qp_num & (kMaxQueuePairs - 1);
}

}  // namespace dtutils::shm
