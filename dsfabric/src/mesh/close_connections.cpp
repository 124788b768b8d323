// SPDX-License-Identifier: MIT
// Connections: counted uses, and the steps that close a connection which nobody uses.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "dsfabric/message.hpp"
#include "dtutils/wait.hpp"
#include "mesh/connections.hpp"
#include "mesh/farewell.hpp"

namespace dsfabric {

CountedUse Connections::use_now(const ThreadContext& context, ProcessId to, bool& waited) noexcept {
  if (uses_ == nullptr) {
    waited = true;
    first_use_->finish(to);
    dtutils::Transmitter* const out = connected(context, to);
    return {out != nullptr ? out : &broken_};
  }
  Use& use = uses_[to.value];
  note_use(use);
  // Counted before it is connected: nobody closes it again before it was used.
  if ((use.users.fetch_add(1, std::memory_order_acquire) & kOpen) == 0) {
    waited = true;
    first_use_->finish(to);
    if (!open(to)) {
      HeldTransmitter::give_back(&use.users);
      return {&broken_};
    }
  }
  Slot* const first = made_[to.value].load(std::memory_order_relaxed);
  return {&*first[number_for(context)], &use.users};
}

CountedUse Connections::try_use_open(const ThreadContext& context, ProcessId to) noexcept {
  if (uses_ == nullptr) return {};
  std::atomic<std::uint32_t>& users = uses_[to.value].users;
  std::uint32_t seen = users.load(std::memory_order_relaxed);
  do {
    if ((seen & kOpen) == 0) return {};
  } while (!users.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire));
  Slot* const first = made_[to.value].load(std::memory_order_relaxed);
  return {&*first[number_for(context)], &users};
}

std::optional<ProcessId> Connections::least_recently_used(
    const std::function<bool(ProcessId)>& may_go) const {
  std::optional<ProcessId> found;
  std::uint64_t last = 0;
  for (const ProcessId process : touched()) {
    const Use& use = uses_[process.value];
    if (use.users.load(std::memory_order_relaxed) != kOpen || !may_go(process)) continue;
    const std::uint64_t used = use.last.load(std::memory_order_relaxed);
    if (found && used >= last) continue;
    found = process;
    last = used;
  }
  return found;
}

bool Connections::try_stop(ProcessId process) noexcept {
  if (uses_ == nullptr) return false;
  std::uint32_t idle = kOpen;
  // Acquire: pairs with HeldTransmitter::give_back.
  return uses_[process.value].users.compare_exchange_strong(idle, 0, std::memory_order_acquire);
}

void Connections::go_on(ProcessId process) noexcept {
  Use& use = uses_[process.value];
  note_use(use);
  // Release: pairs with open(), use_now() and try_use_open().
  use.users.fetch_or(kOpen, std::memory_order_release);
}

bool Connections::awaited(ProcessId process) const noexcept {
  return uses_[process.value].users.load(std::memory_order_relaxed) != 0;
}

bool Connections::bid_farewell(ProcessId process, std::uint64_t number,
                               std::chrono::milliseconds limit) noexcept {
  const dtutils::Deadline deadline(limit);
  const auto flush_all = [&] {
    return std::ranges::all_of(to(process), [&](Slot& each) {
      const auto left = deadline.end() - dtutils::Clock::now();
      return each->flush(std::max<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0)));
    });
  };
  if (!flush_all()) return false;
  Farewell farewell(self_, number);
  for (Slot& each : to(process)) {
    if (!each->send({&farewell, sizeof farewell, 0}, dtutils::kInlined | dtutils::kSolicited)) {
      return false;
    }
  }
  return flush_all();
}

bool Connections::farewell_came(ProcessId from, std::uint64_t number) const noexcept {
  // Acquire: pairs with note_farewell, before which all earlier messages were taken.
  return uses_[from.value].farewell.load(std::memory_order_acquire) ==
         (number << kFarewellShift | queue_pairs_);
}

void Connections::note_farewell(ProcessId from, std::uint64_t number) noexcept {
  if (uses_ == nullptr) return;
  std::atomic<std::uint64_t>& word = uses_[from.value].farewell;
  const std::uint64_t before = word.load(std::memory_order_relaxed);
  // One of an earlier number was of a closing that did not come about.
  if (number < before >> kFarewellShift) return;
  const bool first = number != before >> kFarewellShift;
  word.store(first ? number << kFarewellShift | 1 : before + 1, std::memory_order_release);
}

bool Connections::try_abandon(ProcessId process) noexcept {
  if (uses_ == nullptr) return false;
  std::atomic<std::uint32_t>& users = uses_[process.value].users;
  std::uint32_t idle = users.load(std::memory_order_relaxed) & kOpen;
  // Acquire: pairs with HeldTransmitter::give_back.
  return users.compare_exchange_strong(idle, kGone, std::memory_order_acquire);
}

void Connections::destroy(ProcessId process, const std::function<void()>& fence) noexcept {
  // Sequentially consistent: pairs with poll_counted.
  Slot* const first = made_[process.value].exchange(nullptr, std::memory_order_seq_cst);
  if (first == nullptr) return;
  fence();
  for (std::uint32_t i = 0; i < sharing_threads_; ++i) {
    dtutils::Backoff backoff;
    while (polled_[i].first.load(std::memory_order_seq_cst) == first) backoff.pause();
  }
  std::erase_if(all_, [first](const auto& row) { return row.get() == first; });
}

bool Connections::poll_counted(ThreadContext& context, ProcessId process) noexcept {
  std::atomic<Slot*>& mine = polled_[context.number].first;
  Slot* first = made_[process.value].load(std::memory_order_relaxed);
  // Sequentially consistent: either destroy sees this thread, or this thread that it is gone.
  mine.store(first, std::memory_order_seq_cst);
  if (first == nullptr || made_[process.value].load(std::memory_order_seq_cst) != first) {
    mine.store(nullptr, std::memory_order_relaxed);
    // There is always the one to this process, which stays.
    first = made_[self_.value].load(std::memory_order_relaxed);
    return first[number_for(context)]->progress();
  }
  const bool busy = first[number_for(context)]->progress();
  // Release: pairs with destroy.
  mine.store(nullptr, std::memory_order_release);
  return busy;
}

void Connections::close(ProcessId process) {
  for (Slot& each : to(process)) each->reset();
  // There is room: as many as were made.
  spare_.push_back(made_[process.value].exchange(nullptr, std::memory_order_acq_rel));
}

}  // namespace dsfabric
