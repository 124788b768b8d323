// SPDX-License-Identifier: MIT
// Collectives: how the workers of a process meet.
#include "collectives/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "dsfabric/peer_failed.hpp"
#include "job/job_limits.hpp"
#include "threads/handler_rules.hpp"

namespace dsfabric {

Collectives::Collectives(const Members& members, Connections& connections, ControlBlocks& control,
                         Failures& failures, const OwnFailure& own_failure, MessageEngine& messages,
                         Arrivals& arrivals)
    : members_(members),
      control_(control),
      arrivals_(arrivals),
      workers_(members.threads()),
      came_(workers_),
      wait_(members.self(), failures, own_failure, messages),
      rounds_(members, connections, control, failures, messages, wait_) {}

void Collectives::require_one_collective() const {
  const auto name = [&](std::uint32_t worker) {
    return fmt::format("thread {}", ThreadId{members_.self(), static_cast<std::uint16_t>(worker)});
  };
  for (std::uint32_t i = 1; i < workers_; ++i) {
    if (came_[i].to == came_[0].to) continue;
    throw_mismatch(members_, name(0), came_[0].to, name(i), came_[i].to);
  }
}

template <class Act>
void Collectives::together(ThreadContext& context, const CollectiveCall& call, Act act) {
  wait_.throw_if_over();
  came_[context.number].to = call;
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
  wait_.until(context, members_.self(),
              [&] { return finished_.load(std::memory_order_acquire) != before; });
}

void Collectives::barrier(ThreadContext& context, Collective kind) {
  const CollectiveCall call{kind, 0, 0};
  if (context.in_handler) refuse_handlers(describe(call, members_));
  rounds_.wait_for_posts(context);
  together(context, call, [&] { rounds_.barrier(context, call); });
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
  if (context.in_handler) refuse_handlers(describe(call, members_));
  ControlBlock& control = control_.own();
  const ControlLayout& layout = control.layout();
  for (std::size_t begin = 0; begin < mine.size(); begin += kGatherBytes) {
    const std::size_t length = std::min(kGatherBytes, mine.size() - begin);
    // The same for all: the count of rounds is raised by whoever acts, before others return.
    const unsigned parity = rounds_.gather_parity();
    std::memcpy(control.source<std::byte>(layout.gather_bytes(parity, members_.self())) +
                    context.number * kGatherBytes,
                mine.data() + begin, length);
    together(context, call, [&] { rounds_.gathering(context, call); });
    for (const Member& peer : members_.all()) {
      const std::size_t offset = layout.gather_bytes(parity, peer.info.id);
      const std::byte* from = peer.info.id == members_.self() ? control.source<std::byte>(offset)
                                                              : control.at<std::byte>(offset);
      for (std::uint32_t i = 0; i < peer.info.threads; ++i) {
        std::memcpy(all.data() + (peer.first_rank + i) * mine.size() + begin,
                    from + i * kGatherBytes, length);
      }
    }
  }
}

}  // namespace dsfabric
