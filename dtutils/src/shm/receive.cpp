// SPDX-License-Identifier: MIT
// Lock-free posting and taking of receives; see slot_word.hpp for the protocol.
#include "shm/receive.hpp"

#include "shm/completion.hpp"

namespace dtutils::shm {
namespace {

SlotOwner sender_of(const QueuePairEntry& receiver) noexcept {
  return {receiver.qp_num.load(std::memory_order_relaxed), true};
}

/// Wins the oldest full slot for `owner`, or nullptr; `word` becomes its word.
ReceiveSlot* win_slot(ControlSegment& segment, const ReceiveQueueView& queue, SlotOwner owner,
                      std::uint64_t& word) noexcept {
  std::uint64_t position = queue.head_hint.load(std::memory_order_relaxed);
  for (std::uint64_t looks = max_looks(queue.ring.shift); looks != 0; --looks) {
    auto* slot = segment.slot<ReceiveSlot>(queue.ring, position);
    const std::uint64_t lap = position >> queue.ring.shift;
    // seq_cst: after the pair was broken or closed; pairs with the store at the end of
    // push_receive.
    word = slot->word.load(std::memory_order_seq_cst);
    if (word == slot_word(lap, SlotState::kFull)) {
      const std::uint64_t taken = slot_word(lap, SlotState::kTaken, owner.bits());
      if (slot->word.compare_exchange_strong(word, taken, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
        word = taken;
        queue.head_hint.store(position + 1, std::memory_order_relaxed);
        return slot;
      }
      continue;
    }
    const std::int64_t ahead = laps_ahead(word, lap);
    if (ahead < 0 || (ahead == 0 && slot_state(word) != SlotState::kTaken)) return nullptr;
    position = step_past(position, ahead, queue.ring.shift);
  }
  return nullptr;
}

void copy_out(const ReceiveQueueView& queue, ReceiveSlot& slot, Receive& into) noexcept {
  into.wr_id = slot.wr_id.load(std::memory_order_relaxed);
  into.sge_count = static_cast<std::uint32_t>(slot.sge_count.load(std::memory_order_relaxed));
  if (into.sge_count > queue.max_sge) into.sge_count = queue.max_sge;
  for (std::uint32_t i = 0; i < into.sge_count; ++i) {
    const std::uint64_t length_lkey =
        slot.elements()[i].length_lkey.load(std::memory_order_relaxed);
    into.elements[i] = {slot.elements()[i].address.load(std::memory_order_relaxed),
                        static_cast<std::uint32_t>(length_lkey),
                        static_cast<std::uint32_t>(length_lkey >> 32)};
  }
}

}  // namespace

std::optional<std::uint64_t> push_receive(ControlSegment& segment, const ReceiveQueueView& queue,
                                          const ibv_recv_wr& request) noexcept {
  std::uint64_t position = queue.tail_hint.load(std::memory_order_relaxed);
  ReceiveSlot* slot;
  std::uint64_t lap;
  std::uint64_t skipped = 0;
  for (std::uint64_t looks = max_looks(queue.ring.shift);; --looks) {
    if (looks == 0) return std::nullopt;
    slot = segment.slot<ReceiveSlot>(queue.ring, position);
    lap = position >> queue.ring.shift;
    std::uint64_t word = slot->word.load(std::memory_order_relaxed);
    if (word == slot_word(lap, SlotState::kEmpty)) {
      // Acquire: pairs with the freeing store of the taker, whose reads come before our writes.
      if (slot->word.compare_exchange_strong(word, slot_word(lap, SlotState::kClaimed),
                                             std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
        break;
      }
    } else if (const std::int64_t ahead = laps_ahead(word, lap); ahead >= 0) {
      position = step_past(position, ahead, queue.ring.shift);
    } else if (slot_state(word) != SlotState::kTaken || !queue.shared ||
               skipped == queue.ring.capacity()) {
      return std::nullopt;
    } else if (slot->word.compare_exchange_strong(word, in_lap(word, lap),
                                                  std::memory_order_relaxed)) {
      ++position;
      ++skipped;
    }
  }
  queue.tail_hint.store(position + 1, std::memory_order_relaxed);
  slot->wr_id.store(request.wr_id, std::memory_order_relaxed);
  slot->sge_count.store(static_cast<std::uint64_t>(request.num_sge), std::memory_order_relaxed);
  for (int i = 0; i < request.num_sge; ++i) {
    const ibv_sge& sge = request.sg_list[i];
    slot->elements()[i].address.store(sge.addr, std::memory_order_relaxed);
    slot->elements()[i].length_lkey.store(sge.length | (static_cast<std::uint64_t>(sge.lkey) << 32),
                                          std::memory_order_relaxed);
  }
  // Release: pairs with the load in win_slot. seq_cst for the re-check of the queue pair's state
  // that follows in post_recv.
  slot->word.store(slot_word(lap, SlotState::kFull), std::memory_order_seq_cst);
  return position;
}

bool take_receive(ControlSegment& segment, const ReceiveQueueView& queue, QueuePairEntry& receiver,
                  Receive& into) noexcept {
  std::uint64_t word;
  ReceiveSlot* slot = win_slot(segment, queue, sender_of(receiver), word);
  if (slot == nullptr) return false;
  copy_out(queue, *slot, into);
  receiver.in_flight_wr_id.store(into.wr_id, std::memory_order_relaxed);
  receiver.in_flight_completion.store(0, std::memory_order_relaxed);
  // Release, both: in this order also for recover_receive; and our reads come before the owner's
  // next use of the slot.
  receiver.in_flight.store(1, std::memory_order_release);
  slot->word.fetch_add(freeing(word), std::memory_order_release);
  return true;
}

bool withdraw_receive(ControlSegment& segment, const ReceiveQueueView& queue, std::uint32_t qp_num,
                      Receive& into) noexcept {
  std::uint64_t word;
  ReceiveSlot* slot = win_slot(segment, queue, {qp_num, false}, word);
  if (slot == nullptr) return false;
  copy_out(queue, *slot, into);
  // Release: our reads come before the next use of the slot.
  slot->word.fetch_add(freeing(word), std::memory_order_release);
  return true;
}

bool recover_receive(ControlSegment& segment, const ReceiveQueueView& queue,
                     const CompletionQueueView& completions, QueuePairEntry& receiver,
                     LostReceive& lost) noexcept {
  const SlotOwner owner = sender_of(receiver);
  // In this order: who polls may detach it between the two looks.
  for (const SlotState state : {SlotState::kClaimed, SlotState::kDetached}) {
    for_each_slot(segment, completions, owner, state,
                  [&](CompletionSlot& slot, std::uint64_t) { lost.claimed = &slot; });
  }
  const bool in_debt = receiver.in_flight.load(std::memory_order_acquire) != 0;
  bool is_lost = false;
  if (in_debt) {
    // Noted and not claimed any more: it was published, so the owner has its completion.
    is_lost = lost.claimed != nullptr ||
              receiver.in_flight_completion.load(std::memory_order_relaxed) == 0;
    lost.wr_id = receiver.in_flight_wr_id.load(std::memory_order_relaxed);
  }
  for (std::uint64_t i = 0; i < queue.ring.capacity(); ++i) {
    ReceiveSlot* slot = segment.slot<ReceiveSlot>(queue.ring, i);
    const std::uint64_t word = slot->word.load(std::memory_order_acquire);
    if (slot_state(word) != SlotState::kTaken || slot_owner(word) != owner.bits()) continue;
    // In both places when it died between the two stores at the end of take_receive: count once.
    if (!in_debt) {
      is_lost = true;
      lost.wr_id = slot->wr_id.load(std::memory_order_relaxed);
    }
    slot->word.fetch_add(freeing(word), std::memory_order_release);
  }
  finish_receive(receiver);
  return is_lost;
}

}  // namespace dtutils::shm
