// SPDX-License-Identifier: MIT
// The home's locks: taking them, and taking them from the dead.
#include <algorithm>

#include "dtutils/wait.hpp"
#include "locked.hpp"

namespace memory::detail {
namespace {

using dsfabric::ProcessId;

/// Looks for a free lock, and for readers to end, before a request is sent back.
constexpr int kLooks = 200;

std::uint64_t look(const std::uint64_t* word) noexcept {
  return std::atomic_ref(const_cast<std::uint64_t&>(*word)).load(std::memory_order_acquire);
}

}  // namespace

std::uint64_t Home::add(std::uint64_t* word, std::uint32_t zone, std::uint64_t addend) noexcept {
  if (processor_atomics_) {
    // Release: what the holder did is seen by who takes the lock next. Acquire: the other way.
    return std::atomic_ref(*word).fetch_add(addend, std::memory_order_acq_rel);
  }
  const dtutils::RDMAMemory& memory = memory_[zone];
  const auto offset = reinterpret_cast<std::byte*>(word) - memory.data();
  const auto at = memory.remote().part(static_cast<std::uint64_t>(offset), kWord);
  return fabric_.transmitter(fabric_.process()).blocking_fetch_and_add(at, addend).value_or(0);
}

std::uint64_t Home::swap_if(std::uint64_t* word, std::uint32_t zone, std::uint64_t expected,
                            std::uint64_t desired) noexcept {
  if (processor_atomics_) {
    std::atomic_ref(*word).compare_exchange_strong(expected, desired, std::memory_order_acq_rel);
    return expected;
  }
  const dtutils::RDMAMemory& memory = memory_[zone];
  const auto offset = reinterpret_cast<std::byte*>(word) - memory.data();
  const auto at = memory.remote().part(static_cast<std::uint64_t>(offset), kWord);
  // Without an answer this process has lost its connection to itself: it never gets the lock.
  return fabric_.transmitter(fabric_.process())
      .blocking_compare_and_swap(at, expected, desired)
      .value_or(~expected);
}

bool Home::lock(std::uint64_t* word, std::uint32_t zone, std::uint64_t& before) noexcept {
  const std::uint64_t mine = writer_word(fabric_.process());
  std::uint64_t seen = look(word);
  for (int i = 0;; ++i) {
    if (!has_writer(seen)) {
      const std::uint64_t found = swap_if(word, zone, seen, seen | mine);
      if (found == seen) break;
      seen = found;
    } else {
      dtutils::cpu_pause();
      seen = look(word);
    }
    if (i == kLooks) return false;
  }
  // No reader comes in any more; those that are in have only one read to make.
  before = seen | mine;
  for (int i = 0; (before & kReaders) != 0; ++i) {
    if (i == kLooks) {
      add(word, zone, ~mine + 1);
      return false;
    }
    dtutils::cpu_pause();
    before = look(word);
  }
  return true;
}

std::uint64_t Home::readers_of(ProcessId process, std::uint32_t processes) noexcept {
  const std::uint32_t each = std::max(1u, kReaderBits / processes);
  const std::uint32_t first = process.value * each;
  if (first + each > kReaderBits) return 0;
  return ((std::uint64_t{1} << each) - 1) << first;
}

Answer Home::examine(const Place& place) {
  Status status;
  const auto segment = find(place, status);
  if (!segment) return {0, status};
  Locked locked(*this, *segment, place);
  // Somebody writes it.
  if (!locked) return {};
  const Head head = segment->head();
  if (status = head.judge(place); status != Status::kDone) return {0, status};
  if (segment->consistent()) return {};
  const std::uint64_t after = next_version(head.version) | kDamagedBit;
  if ((locked.before() & kSubscribed) != 0) tell_subscribers(place, after);
  segment->publish(after);
  return {};
}

void Home::repair_after(ProcessId dead) noexcept {
  const std::uint64_t readers = readers_of(dead, fabric_.founders());
  const std::uint64_t writer = writer_word(dead);
  for (std::uint32_t zone = 0; zone < memory_.size(); ++zone) {
    // Only allocate and free wait meanwhile; new segments have no locks of the dead.
    const std::scoped_lock lock(slots_mutex_);
    slots_[zone].for_each([&](std::uint64_t offset) {
      const Segment segment(memory_[zone].data() + offset, lines_);
      std::uint64_t* const word = &segment.header().lock;
      const std::uint64_t seen = look(word);
      std::uint64_t left = seen & readers;
      if (has_writer(seen) && seen >> kWriterShift == writer >> kWriterShift) {
        (void)segment.repair();
        left |= writer;
      }
      // Nothing of the dead arrives any more, so these bits do not change otherwise.
      if (left != 0) add(word, zone, ~left + 1);
    });
  }
  const std::scoped_lock lock(subscribers_mutex_);
  for (auto& [place, its] : subscribers_) {
    std::erase_if(its, [&](const Subscriber& each) { return each.process == dead.value; });
  }
}

}  // namespace memory::detail
