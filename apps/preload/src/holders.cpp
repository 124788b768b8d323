// SPDX-License-Identifier: MIT
// Counters in anonymous shared memory.
#include "holders.hpp"

#include <sys/mman.h>

#include <atomic>

namespace preload {
namespace {

constexpr std::uint32_t kSlots = 65536;
using Slot = std::atomic<std::uint32_t>;

/// Fresh pages are zero: shared_slots that nobody has.
Slot* shared_slots = nullptr;
std::atomic<std::uint32_t> next_slot{0};

}  // namespace

void prepare_holders() noexcept {
  void* const memory = mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) shared_slots = static_cast<Slot*>(memory);
}

void Holders::add_child() noexcept {
  if (slot_ == kUnknown) return;
  if (slot_ != kNone) {
    shared_slots[slot_].fetch_add(1, std::memory_order_relaxed);
    return;
  }
  slot_ = kUnknown;
  if (shared_slots == nullptr) return;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    const std::uint32_t slot = next_slot.fetch_add(1, std::memory_order_relaxed) % kSlots;
    std::uint32_t nobody = 0;
    if (shared_slots[slot].compare_exchange_strong(nobody, 2, std::memory_order_relaxed)) {
      slot_ = slot;
      return;
    }
  }
}

void Holders::leave() noexcept {
  // Release: what this process did to the connection comes before; pairs with the load in `alone`.
  if (slot_ < kSlots) shared_slots[slot_].fetch_sub(1, std::memory_order_release);
  slot_ = kNone;
}

bool Holders::alone() const noexcept {
  if (slot_ == kNone) return true;
  return slot_ < kSlots && shared_slots[slot_].load(std::memory_order_acquire) == 1;
}

}  // namespace preload
