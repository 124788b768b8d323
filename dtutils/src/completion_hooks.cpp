// SPDX-License-Identifier: MIT
// The slots of completion hooks.
#include "dtutils/detail/completion_hooks.hpp"

#include <bit>

namespace dtutils::detail {

CompletionHooks::CompletionHooks(std::uint32_t outstanding)
    : mask_(std::bit_ceil(2 * outstanding) - 1),
      words_(std::make_unique<std::atomic<std::uintptr_t>[]>(mask_ + 1)) {}

std::uint32_t CompletionHooks::claim(Synchronizer& synchronizer, std::uint64_t near,
                                     After after) noexcept {
  static_assert(alignof(Synchronizer) > kHoldBit && alignof(Synchronizer) > kHeld);
  const std::uintptr_t waiting =
      reinterpret_cast<std::uintptr_t>(&synchronizer) | (after == After::kHold ? kHoldBit : 0);
  for (std::uint32_t tried = 0; tried <= mask_; ++tried) {
    const std::uint32_t index = static_cast<std::uint32_t>(near + tried) & mask_;
    std::uintptr_t free = kFree;
    // Acquire: pairs with release, so that what was read under this number was read before.
    // Release: pairs with deliver, whichever way the device carried the number there.
    if (words_[index].load(std::memory_order_relaxed) == kFree &&
        words_[index].compare_exchange_strong(free, waiting, std::memory_order_acq_rel,
                                              std::memory_order_relaxed)) {
      return index + 1;
    }
  }
  return kNone;
}

void CompletionHooks::deliver(std::uint32_t slot, bool success) noexcept {
  std::atomic<std::uintptr_t>& word = words_[slot - 1];
  // Acquire: pairs with claim.
  std::uintptr_t waiting = word.load(std::memory_order_acquire);
  if (waiting == kFree || waiting == kHeld) {
    return;
  }
  const std::uintptr_t next = (waiting & kHoldBit) != 0 ? kHeld : kFree;
  // Only one deliverer wins; the Synchronizer may be gone for the others.
  if (!word.compare_exchange_strong(waiting, next, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
    return;
  }
  auto* synchronizer = reinterpret_cast<Synchronizer*>(waiting & ~kHoldBit);
  success ? synchronizer->decrement() : synchronizer->fail();
}

void CompletionHooks::release(std::uint32_t slot) noexcept {
  // Release: pairs with the next claim.
  words_[slot - 1].store(kFree, std::memory_order_release);
}

void CompletionHooks::fail_all() noexcept {
  for (std::uint32_t slot = 1; slot <= slots(); ++slot) {
    deliver(slot, false);
  }
}

}  // namespace dtutils::detail
