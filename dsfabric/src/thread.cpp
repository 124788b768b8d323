// SPDX-License-Identifier: MIT
// Thread: a worker's face to the fabric.
#include "dsfabric/thread.hpp"

#include <algorithm>

#include "core.hpp"
#include "dtutils/wait_hook.hpp"
#include "team.hpp"

namespace dsfabric {

Thread::Thread(Fabric& fabric, Lane& lane) : fabric_(fabric), lane_(lane), id_(lane.name) {
  lane_.worker = this;
  fabric_.core().lanes().adopt(&lane_);
  dtutils::set_wait_hook({[](void* self, const dtutils::Synchronizer&, dtutils::WaitEnd) {
                            return static_cast<Thread*>(self)->progress();
                          },
                          this});
}

Thread::~Thread() {
  dtutils::set_wait_hook({});
  lane_.hooks.clear();
  lane_.working = false;
  fabric_.core().lanes().adopt(nullptr);
  lane_.worker = nullptr;
}

ThreadId Thread::neighbour(std::int64_t distance) const noexcept {
  const auto total = static_cast<std::int64_t>(fabric_.total_threads());
  const std::int64_t there = (fabric_.rank_of(id_) + distance % total + total) % total;
  return fabric_.thread_of_rank(static_cast<std::uint32_t>(there));
}

dtutils::Transmitter& Thread::transmitter(ProcessId to) noexcept {
  return fabric_.core().transmitter(lane_, to);
}

bool Thread::progress() { return fabric_.core().progress(lane_); }

void Thread::add_hook(ProgressHook hook) {
  if (std::ranges::find(lane_.hooks, hook) == lane_.hooks.end()) lane_.hooks.push_back(hook);
}

void Thread::remove_hook(ProgressHook hook) noexcept { std::erase(lane_.hooks, hook); }

bool Thread::in_dispatcher() const noexcept { return lane_.dispatching; }

void Thread::barrier() { fabric_.core().team().barrier(lane_, Collective::kBarrier); }

void Thread::gather_bytes(Collective kind, std::span<const std::byte> mine,
                          std::span<std::byte> all) {
  fabric_.core().team().gather(lane_, kind, mine, all);
}

void Thread::broadcast_bytes(std::span<std::byte> value, ThreadId root) {
  std::vector<std::byte> all(value.size() * fabric_.total_threads());
  gather_bytes(Collective::kBroadcast, value, all);
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(value.size() * fabric_.rank_of(root));
  std::copy(from, from + static_cast<std::ptrdiff_t>(value.size()), value.begin());
}

}  // namespace dsfabric
