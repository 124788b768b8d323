// SPDX-License-Identifier: MIT
// Collectives: how the workers of a process meet.
#include "collectives/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "job/job_limits.hpp"
#include "threads/handler_rules.hpp"

namespace dsfabric {

Collectives::Collectives(const Participants& participants, dtutils::RDMAMemory memory,
                         Connections& connections, Failures& failures,
                         const OwnFailure& own_failure, MessageEngine& messages, Arrivals& arrivals)
    : participants_(participants),
      arrivals_(arrivals),
      workers_(participants.here()),
      came_(workers_),
      wait_(participants, failures, own_failure, messages),
      block_(std::move(memory), RoundLayout(participants.processes(), participants.max_workers())),
      rounds_(participants, connections, block_, failures, messages, wait_) {}

void Collectives::require_one_collective() const {
  const auto name = [&](std::uint32_t slot) {
    const std::uint32_t rank = participants_.rank(participants_.self(), slot);
    return fmt::format("thread {}", participants_.worker(rank));
  };
  for (std::uint32_t i = 1; i < workers_; ++i) {
    if (came_[i].to == came_[0].to) continue;
    throw_mismatch(participants_, name(0), came_[0].to, name(i), came_[i].to);
  }
}

void Collectives::revoke(ProcessId failed) {
  const ProcessId self = participants_.process(participants_.self());
  // All hear that from this process itself. And a handler may have thrown for someone else.
  if (!wait_.revoked() && (failed == self || !participants_.has(failed))) return;
  if (told_.exchange(true)) return;
  wait_.revoke({failed, self});
  if (tell_) tell_(*wait_.revoked());
}

template <class Act>
void Collectives::together(ThreadContext& context, const CollectiveCall& call, Act act) {
  wait_.throw_if_over();
  came_[participants_.slot_of(context.number)].to = call;
  if (workers_ == 1) {
    arrivals_.begin_again();
    act();
    return;
  }
  // Relaxed: our own arrival below cannot be overtaken by the end that it is needed for.
  const std::uint64_t before = finished_.load(std::memory_order_relaxed);
  if (arrivals_.arrive() == workers_) {
    arrivals_.begin_again();
    try {
      require_one_collective();
      act();
    } catch (...) {
      wait_.break_for_all(std::current_exception());
      throw;
    }
    // Release: pairs with the acquire below, so that what arrived from the peers is visible.
    finished_.store(before + 1, std::memory_order_release);
    return;
  }
  wait_.until(context, participants_.process(participants_.self()),
              [&] { return finished_.load(std::memory_order_acquire) != before; });
}

void Collectives::barrier(ThreadContext& context, Collective kind) {
  const CollectiveCall call{kind, 0, 0};
  if (context.in_handler) refuse_handlers(describe(call, participants_));
  revoking([&] {
    rounds_.wait_for_posts(context, participants_.slot_of(context.number));
    together(context, call, [&] { rounds_.barrier(context, call); });
  });
}

bool Collectives::quiet_barrier(ThreadContext& context, Collective kind) {
  try {
    barrier(context, kind);
    return true;
  } catch (const PeerFailed&) {
    return false;
  }
}

void Collectives::gather(ThreadContext& context, Collective kind, std::span<const std::byte> mine,
                         std::span<std::byte> all, std::uint32_t root) {
  const CollectiveCall call{kind, static_cast<std::uint32_t>(mine.size()), root};
  if (context.in_handler) refuse_handlers(describe(call, participants_));
  const RoundLayout& layout = block_.layout();
  const std::uint32_t processes = participants_.processes();
  for (std::size_t begin = 0; begin < mine.size(); begin += kGatherBytes) {
    const std::size_t length = std::min(kGatherBytes, mine.size() - begin);
    // The same for all: the count of rounds is raised by whoever acts, before others return.
    const unsigned parity = rounds_.gather_parity();
    std::memcpy(
        block_.at(layout.slot(parity, 0)) + participants_.slot_of(context.number) * kGatherBytes,
        mine.data() + begin, length);
    revoking([&] { together(context, call, [&] { rounds_.gathering(context, call); }); });
    for (std::uint32_t i = 0; i < processes; ++i) {
      const std::uint32_t index = (participants_.self() + i) % processes;
      const std::byte* const from = block_.at(layout.slot(parity, i));
      for (std::uint32_t slot = 0; slot < participants_.workers(index); ++slot) {
        std::memcpy(all.data() + participants_.rank(index, slot) * mine.size() + begin,
                    from + slot * kGatherBytes, length);
      }
    }
  }
}

}  // namespace dsfabric
