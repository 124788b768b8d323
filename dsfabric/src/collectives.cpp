// SPDX-License-Identifier: MIT
// Collectives: how the workers of a process meet.
#include "collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core.hpp"
#include "dsfabric/handler_scope.hpp"
#include "dsfabric/peer_failed.hpp"
#include "limits.hpp"

namespace dsfabric {

Collectives::Collectives(Core& core)
    : core_(core),
      workers_(core.peer(core.self()).info.threads),
      wait_(core),
      rounds_(core, wait_) {
  for (std::uint32_t i = 0; i < workers_; ++i) {
    core.thread_registry().worker(i).settled.resize(core.processes());
  }
}

void Collectives::require_one_collective() const {
  const ThreadContext& first = core_.thread_registry().worker(0);
  for (std::uint32_t i = 1; i < workers_; ++i) {
    const ThreadContext& other = core_.thread_registry().worker(i);
    if (other.collective == first.collective) continue;
    throw_mismatch(core_.fabric(), fmt::format("thread {}", first.name), first.collective,
                   fmt::format("thread {}", other.name), other.collective);
  }
}

template <class Act>
void Collectives::together(ThreadContext& context, const CollectiveCall& call, Act act) {
  wait_.throw_if_over();
  context.collective = call;
  if (workers_ == 1) {
    arrived_.store(0, std::memory_order_release);
    act();
    return;
  }
  // Relaxed: our own arrival below cannot be overtaken by the end that it is needed for.
  const std::uint64_t before = finished_.load(std::memory_order_relaxed);
  // Acquire and release: the last one sees what all before it have written.
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == workers_) {
    arrived_.store(0, std::memory_order_release);
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
  wait_.until(context, core_.self(),
              [&] { return finished_.load(std::memory_order_acquire) != before; });
}

void Collectives::barrier(ThreadContext& context, Collective kind) {
  const CollectiveCall call{kind, 0, 0};
  if (context.in_handler) detail::require_program(core_.fabric(), describe(call, core_.fabric()));
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
  if (context.in_handler) detail::require_program(core_.fabric(), describe(call, core_.fabric()));
  ControlBlock& control = core_.control();
  const ControlLayout& layout = control.layout();
  for (std::size_t begin = 0; begin < mine.size(); begin += kGatherBytes) {
    const std::size_t length = std::min(kGatherBytes, mine.size() - begin);
    // The same for all: the count of rounds is raised by whoever acts, before others return.
    const unsigned parity = rounds_.gather_parity();
    std::memcpy(control.source<std::byte>(layout.gather_bytes(parity, core_.self())) +
                    context.number * kGatherBytes,
                mine.data() + begin, length);
    together(context, call, [&] { rounds_.gathering(context, call); });
    for (const Peer& peer : core_.peers()) {
      const std::size_t offset = layout.gather_bytes(parity, peer.info.id);
      const std::byte* from = peer.info.id == core_.self() ? control.source<std::byte>(offset)
                                                           : control.at<std::byte>(offset);
      for (std::uint32_t i = 0; i < peer.info.threads; ++i) {
        std::memcpy(all.data() + (peer.first_rank + i) * mine.size() + begin,
                    from + i * kGatherBytes, length);
      }
    }
  }
}

}  // namespace dsfabric
