// SPDX-License-Identifier: MIT
// Counters in anonymous shared memory.
#include "holders.hpp"

#include <sys/mman.h>

#include <atomic>

namespace preload {
namespace {

constexpr std::uint32_t kSlots = 65536;
struct Slot {
  std::atomic<std::uint32_t> holders;
  Returned returned;
};

/// Fresh pages are zero: slots that nobody has.
Slot* shared_slots = nullptr;
std::atomic<std::uint32_t> next_slot{0};

}  // namespace

void prepare_holders() noexcept {
  void* const memory = mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) shared_slots = static_cast<Slot*>(memory);
  prepare_returned();
}

void Holders::add_child() noexcept {
  if (slot_ == kUnknown) return;
  if (slot_ != kNone) {
    shared_slots[slot_].holders.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  slot_ = kUnknown;
  if (shared_slots == nullptr) return;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    const std::uint32_t slot = next_slot.fetch_add(1, std::memory_order_relaxed) % kSlots;
    std::uint32_t nobody = 0;
    // Acquire: what the last holder did to the slot comes before; pairs with `leave`.
    if (shared_slots[slot].holders.compare_exchange_strong(nobody, 2, std::memory_order_acquire,
                                                           std::memory_order_relaxed)) {
      slot_ = slot;
      return;
    }
  }
}

void Holders::leave() noexcept {
  // Release: what this process did to the connection comes before; pairs with the load in `alone`.
  if (slot_ < kSlots && !has_left_) {
    shared_slots[slot_].holders.fetch_sub(1, std::memory_order_release);
  }
  slot_ = kNone;
}

void Holders::leave_at_exit() noexcept {
  if (slot_ >= kSlots || has_left_) return;
  std::atomic<std::uint32_t>& holders = shared_slots[slot_].holders;
  std::uint32_t now = holders.load(std::memory_order_relaxed);
  // The last one keeps the slot from others, since it may still use it.
  while (now > 1 && !has_left_) {
    has_left_ = holders.compare_exchange_weak(now, now - 1, std::memory_order_release,
                                              std::memory_order_relaxed);
  }
}

bool Holders::alone() const noexcept {
  if (slot_ == kNone) return true;
  return slot_ < kSlots && !has_left_ &&
         shared_slots[slot_].holders.load(std::memory_order_acquire) == 1;
}

Returned* Holders::returned() const noexcept {
  return slot_ < kSlots ? &shared_slots[slot_].returned : nullptr;
}

}  // namespace preload
