// SPDX-License-Identifier: MIT
// Every field of every shared structure, hashed at compile time.
#include "shm/layout_digest.hpp"

#include <array>
#include <concepts>
#include <cstddef>

#include "dtutils/fnv1a.hpp"
#include "shm/layout.hpp"

// offsetof is a macro, too.
#define CARIAMA_FIELD(structure, field) \
  FieldPlace { offsetof(structure, field), sizeof(structure::field) }

namespace dtutils::shm {
namespace {

/// Raise it when the meaning of a field changes, which no size and no offset shows.
constexpr std::uint64_t kMeaning = 4;

struct FieldPlace {
  std::size_t offset;
  std::size_t size;
};

struct Anything {
  template <class T>
  operator T() const;
};

/// Fields of an aggregate: as many as it can be initialized with.
template <class T, class... Values>
consteval std::size_t count_fields(Values... values) {
  if constexpr (requires { T{values..., Anything{}}; }) {
    return count_fields<T>(values..., Anything{});
  } else {
    return sizeof...(values);
  }
}

class Digest {
 public:
  template <class T, class... Fields>
  constexpr Digest& add(const Fields&... fields) {
    static_assert(sizeof...(fields) == count_fields<T>(), "a field is missing here");
    step(sizeof(T));
    step(alignof(T));
    ((step(fields.offset), step(fields.size)), ...);
    return *this;
  }
  constexpr Digest& step(std::uint64_t number) {
    hash_.number(number);
    return *this;
  }
  constexpr std::uint64_t value() const { return hash_.value(); }

 private:
  dtutils::Fnv1a hash_;
};

constexpr std::uint64_t kDigest =
    Digest()
        .step(kMeaning)
        .add<PipeName>(CARIAMA_FIELD(PipeName, fd), CARIAMA_FIELD(PipeName, inode))
        .add<Header>(CARIAMA_FIELD(Header, magic), CARIAMA_FIELD(Header, layout),
                     CARIAMA_FIELD(Header, nonce), CARIAMA_FIELD(Header, pid),
                     CARIAMA_FIELD(Header, thread), CARIAMA_FIELD(Header, doorbell),
                     CARIAMA_FIELD(Header, life), CARIAMA_FIELD(Header, owner_address))
        .add<RegionEntry>(
            CARIAMA_FIELD(RegionEntry, key), CARIAMA_FIELD(RegionEntry, access),
            CARIAMA_FIELD(RegionEntry, pd), CARIAMA_FIELD(RegionEntry, fd),
            CARIAMA_FIELD(RegionEntry, address), CARIAMA_FIELD(RegionEntry, length),
            CARIAMA_FIELD(RegionEntry, inode), CARIAMA_FIELD(RegionEntry, segment_size),
            CARIAMA_FIELD(RegionEntry, segment_offset), CARIAMA_FIELD(RegionEntry, in_use))
        .add<QueuePairEntry>(
            CARIAMA_FIELD(QueuePairEntry, gate), CARIAMA_FIELD(QueuePairEntry, qp_num),
            CARIAMA_FIELD(QueuePairEntry, state), CARIAMA_FIELD(QueuePairEntry, pd),
            CARIAMA_FIELD(QueuePairEntry, access), CARIAMA_FIELD(QueuePairEntry, receive_queue),
            CARIAMA_FIELD(QueuePairEntry, receive_cq), CARIAMA_FIELD(QueuePairEntry, rnr_timer_us),
            CARIAMA_FIELD(QueuePairEntry, send_lock), CARIAMA_FIELD(QueuePairEntry, sq_retired),
            CARIAMA_FIELD(QueuePairEntry, in_flight),
            CARIAMA_FIELD(QueuePairEntry, in_flight_wr_id),
            CARIAMA_FIELD(QueuePairEntry, in_flight_completion))
        .add<RingPlace>(CARIAMA_FIELD(RingPlace, offset), CARIAMA_FIELD(RingPlace, shift),
                        CARIAMA_FIELD(RingPlace, slot_size))
        .add<CompletionQueueEntry>(CARIAMA_FIELD(CompletionQueueEntry, ring),
                                   CARIAMA_FIELD(CompletionQueueEntry, channel),
                                   CARIAMA_FIELD(CompletionQueueEntry, overrun),
                                   CARIAMA_FIELD(CompletionQueueEntry, tail_hint),
                                   CARIAMA_FIELD(CompletionQueueEntry, head_hint),
                                   CARIAMA_FIELD(CompletionQueueEntry, claim_seen),
                                   CARIAMA_FIELD(CompletionQueueEntry, claim_seen_at),
                                   CARIAMA_FIELD(CompletionQueueEntry, armed))
        .add<CompletionSlot>(
            CARIAMA_FIELD(CompletionSlot, word), CARIAMA_FIELD(CompletionSlot, wr_id),
            CARIAMA_FIELD(CompletionSlot, status_opcode),
            CARIAMA_FIELD(CompletionSlot, length_immediate), CARIAMA_FIELD(CompletionSlot, numbers),
            CARIAMA_FIELD(CompletionSlot, flags_vendor), CARIAMA_FIELD(CompletionSlot, sq_position))
        .add<ReceiveQueueEntry>(
            CARIAMA_FIELD(ReceiveQueueEntry, ring), CARIAMA_FIELD(ReceiveQueueEntry, max_sge),
            CARIAMA_FIELD(ReceiveQueueEntry, pd), CARIAMA_FIELD(ReceiveQueueEntry, shared),
            CARIAMA_FIELD(ReceiveQueueEntry, tail_hint),
            CARIAMA_FIELD(ReceiveQueueEntry, head_hint))
        .add<ReceiveSlot>(CARIAMA_FIELD(ReceiveSlot, word), CARIAMA_FIELD(ReceiveSlot, wr_id),
                          CARIAMA_FIELD(ReceiveSlot, sge_count), CARIAMA_FIELD(ReceiveSlot, unused))
        .add<ReceiveSlot::Element>(CARIAMA_FIELD(ReceiveSlot::Element, address),
                                   CARIAMA_FIELD(ReceiveSlot::Element, length_lkey))
        .step(offsetof(ControlSegment, header))
        .step(offsetof(ControlSegment, regions))
        .step(offsetof(ControlSegment, queue_pairs))
        .step(offsetof(ControlSegment, completion_queues))
        .step(offsetof(ControlSegment, receive_queues))
        .step(offsetof(ControlSegment, arena))
        .step(sizeof(ControlSegment))
        .value();

}  // namespace

std::uint64_t layout_digest() noexcept { return kDigest; }

}  // namespace dtutils::shm
