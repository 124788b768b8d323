// SPDX-License-Identifier: MIT
// Home: repairing slots of writers that died, and freezing those of living ones.
#include "dtutils/wait.hpp"
#include "hashtable/detail/home.hpp"

namespace hashtable::detail {
namespace {

/// Looks at a slot that a writer holds, before a rebuild is given up for now.
constexpr int kFreezeLooks = 64;

}  // namespace

bool Home::gone(std::uint16_t rank) const noexcept {
  const dsfabric::ProcessId process = fabric_.thread_of_rank(rank).process;
  return fabric_.state(process) == dsfabric::PeerState::kLeft ||
         cut_->processes[process.value].load(std::memory_order_acquire);
}

bool Home::whole(BucketWord block, std::uint32_t slot, unsigned cell,
                 std::uint32_t version) const noexcept {
  const std::uint64_t* const words = word(block.index(), 0);
  std::uint64_t entry[32];
  static_assert(kMaxSlotKey / 8 + kMaxSlotValue / 8 < 32);
  const std::uint64_t check = load(words + shape_.cell_at(slot, cell));
  for (std::uint32_t i = 0; i < shape_.value_words; ++i) {
    entry[i] = load(words + shape_.cell_at(slot, cell) + 1 + i);
  }
  for (std::uint32_t i = 0; i < shape_.key_words; ++i) {
    entry[shape_.value_words + i] = load(words + shape_.key_at(slot) + i);
  }
  return check ==
         check_of(version, entry, shape_.value_words, entry + shape_.value_words, shape_.key_words);
}

void Home::rewrite(BucketWord block, std::uint32_t slot, SlotWord seen, SlotWord next) noexcept {
  std::uint64_t* const words = word(block.index(), 0);
  std::uint64_t* const to = words + shape_.cell_at(slot, seen.cell());
  const std::uint64_t* const from = words + shape_.cell_at(slot, 1 - seen.cell());
  std::uint64_t value[kMaxSlotValue / 8];
  std::uint64_t key[kMaxSlotKey / 8];
  for (std::uint32_t i = 0; i < shape_.value_words; ++i) {
    store(to + 1 + i, value[i] = load(from + 1 + i));
  }
  for (std::uint32_t i = 0; i < shape_.key_words; ++i) {
    key[i] = load(words + shape_.key_at(slot) + i);
  }
  // Until the slot word changes, this check fits no version of it: readers take the other cell.
  store(to, check_of(next.version(), value, shape_.value_words, key, shape_.key_words));
  (void)swap(words + shape_.word_at(slot), seen.raw, next.raw);
}

bool Home::repair_locked(BucketWord block, std::uint32_t slot, SlotWord seen) noexcept {
  std::uint64_t* const at = word(block.index(), shape_.word_at(slot));
  if (load(at) != seen.raw) return true;
  if (!gone(seen.owner())) return false;
  const auto next = [&](SlotState state, std::uint32_t more) {
    return SlotWord::make(state, seen.fingerprint(), rank_, seen.version() + more, seen.cell());
  };
  if (seen.state() == SlotState::kClaimed) {
    (void)swap(at, seen.raw, next(SlotState::kDead, 1).raw);
  } else if (seen.locked()) {
    (void)swap(at, seen.raw, next(seen.state(), 0).raw);
  } else if (seen.state() == SlotState::kLive && !whole(block, slot, seen.cell(), seen.version())) {
    // Its writer died while the bytes of its last write were on their way: the key has the value
    // before, or, if it was missing, has no slot any more.
    if (whole(block, slot, 1 - seen.cell(), seen.version() - 1)) {
      rewrite(block, slot, seen, next(SlotState::kLive, 1));
    } else {
      (void)swap(at, seen.raw, next(SlotState::kDead, 1).raw);
    }
  }
  return true;
}

void Home::repair(BucketWord block, std::uint32_t slot, SlotWord seen) {
  const std::scoped_lock lock(mutex_);
  if (slot >= shape_.slots || load(word(block.index(), 0)) != block.life()) return;
  if (!seen.frozen()) (void)repair_locked(block, slot, seen);
}

bool Home::freeze(const std::vector<BucketWord>& chain) noexcept {
  for (const BucketWord block : chain) {
    for (std::uint32_t slot = 0; slot < shape_.slots; ++slot) {
      std::uint64_t* const at = word(block.index(), shape_.word_at(slot));
      for (int look = 0;;) {
        const SlotWord seen{load(at)};
        if (seen.frozen()) break;
        const bool held = seen.in_progress() || (seen.state() == SlotState::kLive &&
                                                 !whole(block, slot, seen.cell(), seen.version()));
        if (held) {
          if (!repair_locked(block, slot, seen) && ++look == kFreezeLooks) return false;
          dtutils::cpu_pause();
        } else if (swap(at, seen.raw, seen.raw | SlotWord::kFrozen)) {
          break;
        }
      }
    }
  }
  return true;
}

}  // namespace hashtable::detail
