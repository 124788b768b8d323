// SPDX-License-Identifier: MIT
// PendingTable, and the handle that users hold on a slot of it.
#include "failure/pending_table.hpp"

#include "dsfabric/detail/inside.hpp"
#include "dsfabric/detail/pending_reply.hpp"
#include "dsfabric/fabric.hpp"
#include "dtutils/wait.hpp"
#include "failure/failures.hpp"

namespace dsfabric {

std::uint32_t PendingTable::claim(ProcessId peer, dtutils::Synchronizer& synchronizer) noexcept {
  const std::uint64_t word =
      reinterpret_cast<std::uint64_t>(&synchronizer) | std::uint64_t{peer.value} << kPeerShift;
  // Relaxed, and no single step: it only says where a free slot is likely.
  const std::uint32_t start = next_.load(std::memory_order_relaxed);
  next_.store(start + 1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kPendingSlots; ++i) {
    const std::uint32_t index = (start + i) & (kPendingSlots - 1);
    std::uint64_t expected = kFree;
    // Sequentially consistent, with the peer's state: either fail_all sees this slot, or the
    // claimer, who looks at the state afterwards, sees that the peer has failed.
    if (slots_[index].word.load(std::memory_order_relaxed) == kFree &&
        slots_[index].word.compare_exchange_strong(expected, word, std::memory_order_seq_cst)) {
      return index;
    }
  }
  return kNone;
}

void PendingTable::release(std::uint32_t slot) noexcept {
  std::atomic<std::uint64_t>& word = slots_[slot].word;
  std::uint64_t seen = word.load(std::memory_order_acquire);
  if (seen > kEnded && word.compare_exchange_strong(seen, kFree, std::memory_order_acq_rel)) {
    return;
  }
  dtutils::Backoff backoff;
  // Acquire: pairs with fail_all and complete, which are done with the Synchronizer then.
  while (word.load(std::memory_order_acquire) == kEnding) {
    backoff.pause();
  }
  word.store(kFree, std::memory_order_release);
}

void PendingTable::fail_all(ProcessId peer) noexcept {
  for (std::uint32_t i = 0; i < kPendingSlots; ++i) {
    std::atomic<std::uint64_t>& word = slots_[i].word;
    std::uint64_t seen = word.load(std::memory_order_seq_cst);
    if (seen <= kEnded || seen >> kPeerShift != peer.value ||
        !word.compare_exchange_strong(seen, kEnding, std::memory_order_acq_rel)) {
      continue;
    }
    fail(synchronizer_of(seen));
    word.store(kEnded, std::memory_order_release);
  }
}

detail::PendingReply::PendingReply(Fabric& fabric, ProcessId peer,
                                   dtutils::Synchronizer& synchronizer) noexcept
    : pending_(detail::Inside::pending(fabric)) {
  slot_ = pending_.claim(peer, synchronizer);
  const Failures& failures = detail::Inside::failures(fabric);
  const bool gone = failures.state(peer, std::memory_order_seq_cst) != PeerState::kActive;
  tied_ = !gone && slot_ != PendingTable::kNone;
  if (!tied_) {
    if (slot_ != PendingTable::kNone) {
      // Before the failing: fail_all may be at it too.
      pending_.release(slot_);
    }
    PendingTable::fail(synchronizer);
  }
}

detail::PendingReply::~PendingReply() {
  if (tied_) {
    pending_.release(slot_);
  }
}

}  // namespace dsfabric
