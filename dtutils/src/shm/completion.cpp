// SPDX-License-Identifier: MIT
// Lock-free push and poll over slot words; see slot_word.hpp for the protocol.
#include "shm/completion.hpp"

#include <optional>

namespace dtutils::shm {
namespace {

std::uint64_t pack(std::uint64_t low, std::uint64_t high) noexcept { return low | (high << 32); }
std::uint32_t low(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word); }
std::uint32_t high(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 32); }

void fill(CompletionSlot& slot, const Completion& c) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;  // published by the slot word
  slot.wr_id.store(c.wr_id, relaxed);
  slot.status_opcode.store(pack(c.status, c.opcode), relaxed);
  slot.length_immediate.store(pack(c.length, c.immediate), relaxed);
  slot.numbers.store(pack(c.qp_num, c.source_qp), relaxed);
  slot.flags_vendor.store(pack(c.flags, c.vendor_error), relaxed);
  slot.sq_position.store(c.sq_position, relaxed);
}

/// `claimed` is the word that the slot has while it is claimed. Nothing when it was detached.
std::optional<Push> fill_and_publish(const CompletionQueueView& queue, CompletionSlot& slot,
                                     std::uint64_t claimed, const Completion& completion) noexcept {
  fill(slot, completion);
  // seq_cst, both: either we see the queue armed, or its owner, who arms and then polls, sees this.
  // It includes release, which pairs with the load in poll_completions.
  if (!slot.word.compare_exchange_strong(claimed, with_state(claimed, SlotState::kFull),
                                         std::memory_order_seq_cst, std::memory_order_relaxed))
      [[unlikely]] {
    return std::nullopt;
  }
  if (queue.channel.fd < 0) return Push::kDone;
  std::uint32_t armed = queue.armed.load(std::memory_order_seq_cst);
  const bool wanted =
      armed == 1 || (armed == 2 && (completion.solicited || completion.status != IBV_WC_SUCCESS));
  return wanted && queue.armed.compare_exchange_strong(armed, 0) ? Push::kDoneWake : Push::kDone;
}

/// Gives a slot back whose claim was detached.
void free_detached(CompletionSlot& slot, std::uint64_t claimed) noexcept {
  // Release: what we wrote comes before the next use of the slot.
  slot.word.fetch_add(freeing(with_state(claimed, SlotState::kDetached)),
                      std::memory_order_release);
}

/// A claimed slot, and its word.
struct Claim {
  CompletionSlot* slot;
  std::uint64_t word;
};

/// True when the queue holds fewer completions than its depth before `position`, the next free one.
/// Looks at all of them, and notes where they begin.
[[gnu::noinline]] bool has_room(ControlSegment& segment, const CompletionQueueView& queue,
                                std::uint64_t position) noexcept {
  // Bounded whatever the hint says, since other processes may write there.
  std::uint64_t distance = position - queue.head_hint.load(std::memory_order_relaxed);
  if (distance > queue.ring.capacity()) distance = queue.ring.capacity();
  std::uint64_t oldest = position;
  std::uint64_t held = 0;
  for (std::uint64_t at = position - distance; at != position; ++at) {
    const std::uint64_t word =
        segment.slot<CompletionSlot>(queue.ring, at)->word.load(std::memory_order_relaxed);
    if (laps_ahead(word, at >> queue.ring.shift) != 0) continue;
    if (slot_state(word) != SlotState::kFull && slot_state(word) != SlotState::kClaimed) continue;
    if (held++ == 0) oldest = at;
  }
  queue.head_seen.value.store(oldest, std::memory_order_relaxed);
  return held < queue.depth;
}

/// Nothing when the queue is full, which is then noted in it.
std::optional<Claim> claim_slot(ControlSegment& segment, const CompletionQueueView& queue,
                                SlotOwner owner, std::atomic<std::uint64_t>* record) noexcept {
  std::uint64_t position = queue.tail_hint.load(std::memory_order_relaxed);
  for (std::uint64_t looks = max_looks(queue.ring.shift); looks != 0; --looks) {
    CompletionSlot* const slot = segment.slot<CompletionSlot>(queue.ring, position);
    const std::uint64_t lap = position >> queue.ring.shift;
    std::uint64_t word = slot->word.load(std::memory_order_relaxed);
    if (word == slot_word(lap, SlotState::kEmpty)) {
      // Relaxed: an older value only leads to a closer look.
      if (position - queue.head_seen.value.load(std::memory_order_relaxed) >= queue.depth &&
          !has_room(segment, queue, position)) {
        break;
      }
      const std::uint64_t claimed = slot_word(lap, SlotState::kClaimed, owner.bits());
      // Acquire: pairs with the freeing exchange in poll_completions, whose reads come before ours.
      if (slot->word.compare_exchange_strong(word, claimed, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
        queue.tail_hint.store(position + 1, std::memory_order_relaxed);
        if (record != nullptr) record->store(position + 1, std::memory_order_relaxed);
        return Claim{slot, claimed};
      }
    } else if (const std::int64_t ahead = laps_ahead(word, lap); ahead >= 0) {
      position = step_past(position, ahead, queue.ring.shift);
    } else if (slot_state(word) == SlotState::kVoid) {
      // The oldest position of a full ring, and nobody waits for it.
      slot->word.compare_exchange_strong(word, slot_word(lap, SlotState::kEmpty),
                                         std::memory_order_acq_rel, std::memory_order_relaxed);
    } else if (slot_state(word) == SlotState::kDetached) {
      slot->word.compare_exchange_strong(word, in_lap(word, lap), std::memory_order_relaxed);
    } else {
      break;
    }
  }
  queue.overrun.store(1, std::memory_order_relaxed);
  return std::nullopt;
}

/// True when a poll may pass the slot, which is neither empty nor full: its claim is detached, or
/// has lasted for longer than `patience` and is detached now.
[[gnu::noinline]] bool pass_claimed(const CompletionQueueView& queue, CompletionSlot& slot,
                                    std::uint64_t word,
                                    std::chrono::nanoseconds patience) noexcept {
  if (slot_state(word) == SlotState::kDetached) return true;
  if (slot_state(word) != SlotState::kClaimed) return false;
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                              std::chrono::nanoseconds(1));
  // Relaxed: threads that poll at once may mix up what they note, and to detach early is no harm.
  if (patience.count() != 0) {
    if (queue.claim_seen.load(std::memory_order_relaxed) != word) {
      queue.claim_seen.store(word, std::memory_order_relaxed);
      queue.claim_seen_at.store(now, std::memory_order_relaxed);
      return false;
    }
    const std::uint64_t since = queue.claim_seen_at.load(std::memory_order_relaxed);
    if (now - since < static_cast<std::uint64_t>(patience.count())) return false;
  }
  return slot.word.compare_exchange_strong(word, with_state(word, SlotState::kDetached),
                                           std::memory_order_relaxed);
}

std::uint64_t read_slot(const CompletionSlot& slot, ibv_wc& wc) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;  // valid if the word is unchanged afterwards
  wc.wr_id = slot.wr_id.load(relaxed);
  const std::uint64_t status_opcode = slot.status_opcode.load(relaxed);
  const std::uint64_t length_immediate = slot.length_immediate.load(relaxed);
  const std::uint64_t numbers = slot.numbers.load(relaxed);
  const std::uint64_t flags_vendor = slot.flags_vendor.load(relaxed);
  wc.status = static_cast<ibv_wc_status>(low(status_opcode));
  wc.opcode = static_cast<ibv_wc_opcode>(high(status_opcode));
  wc.byte_len = low(length_immediate);
  wc.imm_data = high(length_immediate);
  wc.qp_num = low(numbers);
  wc.src_qp = high(numbers);
  wc.wc_flags = low(flags_vendor);
  wc.vendor_err = high(flags_vendor);
  wc.pkey_index = 0;
  wc.slid = 0;
  wc.sl = 0;
  wc.dlid_path_bits = 0;
  return slot.sq_position.load(relaxed);
}

void give_back(ControlSegment& segment, std::uint32_t qp_num, std::uint64_t position) noexcept {
  QueuePairEntry& entry = segment.queue_pairs[queue_pair_index(qp_num)];
  if (entry.qp_num.load(std::memory_order_relaxed) != qp_num) return;
  std::uint64_t seen = entry.sq_retired.load(std::memory_order_relaxed);
  while (seen < position &&
         !entry.sq_retired.compare_exchange_weak(seen, position, std::memory_order_relaxed)) {
  }
}

}  // namespace

Push push_completion(ControlSegment& segment, const CompletionQueueView& queue, SlotOwner owner,
                     const Completion& completion, std::atomic<std::uint64_t>* record) noexcept {
  if (queue.overrun.load(std::memory_order_relaxed) != 0) return Push::kOverrun;
  for (;;) {
    const std::optional<Claim> claim = claim_slot(segment, queue, owner, record);
    if (!claim) return Push::kOverrun;
    if (const auto pushed = fill_and_publish(queue, *claim->slot, claim->word, completion)) {
      return *pushed;
    }
    // Before the slot is free: who looks for it then must not take the completion for published.
    if (record != nullptr) record->store(0, std::memory_order_relaxed);
    free_detached(*claim->slot, claim->word);
  }
}

Push publish_for_the_dead(ControlSegment& segment, const CompletionQueueView& queue,
                          CompletionSlot& slot, SlotOwner owner,
                          const Completion& completion) noexcept {
  const std::uint64_t claimed =
      with_state(slot.word.load(std::memory_order_relaxed), SlotState::kClaimed);
  if (const auto pushed = fill_and_publish(queue, slot, claimed, completion)) return *pushed;
  free_detached(slot, claimed);
  return push_completion(segment, queue, owner, completion, nullptr);
}

bool has_completion(ControlSegment& segment, const CompletionQueueView& queue) noexcept {
  const std::uint64_t head = queue.head_hint.load(std::memory_order_relaxed);
  const std::uint64_t word = segment.slot<CompletionSlot>(queue.ring, head)->word.load();
  return laps_ahead(word, head >> queue.ring.shift) == 0 && slot_state(word) != SlotState::kEmpty;
}

int poll_completions(ControlSegment& segment, const CompletionQueueView& queue, int count,
                     ibv_wc* into, std::chrono::nanoseconds patience) noexcept {
  std::uint64_t position = queue.head_hint.load(std::memory_order_relaxed);
  const std::uint64_t start = position;
  std::uint64_t looks = max_looks(queue.ring.shift);
  int taken = 0;
  while (taken < count) {
    CompletionSlot* slot = segment.slot<CompletionSlot>(queue.ring, position);
    const std::uint64_t lap = position >> queue.ring.shift;
    // seq_cst: after the caller armed the queue; pairs with push_completion.
    std::uint64_t word = slot->word.load(std::memory_order_seq_cst);
    if (const std::int64_t ahead = laps_ahead(word, lap); ahead != 0) {
      if (ahead < 0) break;
      position = step_past(position, ahead, queue.ring.shift);
      if (--looks != 0) continue;
      queue.overrun.store(1, std::memory_order_relaxed);
      break;
    }
    if (slot_state(word) == SlotState::kEmpty) break;
    if (slot_state(word) != SlotState::kFull && slot_state(word) != SlotState::kVoid) [[unlikely]] {
      if (!pass_claimed(queue, *slot, word, patience)) break;
      ++position;
      continue;
    }
    const std::uint64_t sq_position = read_slot(*slot, into[taken]);
    // acq_rel: the reads above come before the slot is free, and a failed exchange discards them.
    if (!slot->word.compare_exchange_strong(word, slot_word(lap + 1, SlotState::kEmpty),
                                            std::memory_order_acq_rel, std::memory_order_relaxed)) {
      continue;
    }
    ++position;
    if (slot_state(word) == SlotState::kVoid) continue;
    if (sq_position != 0) give_back(segment, into[taken].qp_num, sq_position);
    ++taken;
  }
  if (position != start) queue.head_hint.store(position, std::memory_order_relaxed);
  if (taken == 0 && queue.overrun.load(std::memory_order_relaxed) != 0) return -1;
  return taken;
}

int void_completions(ControlSegment& segment, const CompletionQueueView& queue,
                     std::uint32_t qp_num) noexcept {
  int voided = 0;
  for (std::uint64_t i = 0; i < queue.ring.capacity(); ++i) {
    auto& slot = *segment.slot<CompletionSlot>(queue.ring, i);
    std::uint64_t word = slot.word.load(std::memory_order_acquire);
    if (slot_state(word) != SlotState::kFull || owner_queue_pair(word) != qp_num) continue;
    // Fails when another thread polls it at this moment.
    voided += slot.word.compare_exchange_strong(word, with_state(word, SlotState::kVoid),
                                                std::memory_order_acq_rel);
  }
  return voided;
}

}  // namespace dtutils::shm
