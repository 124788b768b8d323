// SPDX-License-Identifier: MIT
// SpaceCore: the freeze of this process, while a home repairs its locks.
#include <fmt/format.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "space_core.hpp"

namespace locks::detail {
namespace {

/// For what was posted on one connection, each time that a home asks.
constexpr std::chrono::milliseconds kWaitForOne{100};

}  // namespace

FreezeAnswer SpaceCore::freeze(dsfabric::ProcessId home, std::uint64_t repair,
                               std::span<const std::uint16_t> dead) {
  for (const std::uint16_t process : dead) {
    // Who is given up itself does not ask why: its connections are broken.
    if (process == here().value || fabric_.failed({process})) continue;
    fabric_.fail({process}, fmt::format("process {} has given it up", home.value));
  }
  {
    const std::scoped_lock lock(mutex_);
    if (left_) return FreezeAnswer::kNoSpace;
    // One that this process has given up, without having heard of it: its locks are not used any
    // more, but not all that was posted has arrived. It will hear, and ask no more.
    if (fabric_.state(home) != dsfabric::PeerState::kActive) return FreezeAnswer::kNotYet;
    Freeze& freeze = freezes_[home.value];
    if (repair <= freeze.over) return FreezeAnswer::kNotYet;
    // Sequentially consistent: pairs with Step, together with the barrier below.
    if (freeze.by == 0 && frozen_.fetch_add(1, std::memory_order_seq_cst) == 0) posted_.clear();
    freeze.by = std::max(freeze.by, repair);
  }
  for (const std::uint16_t process : dead) {
    // One that has left here, before another process took it for failed, writes no more.
    const bool left = fabric_.state({process}) == dsfabric::PeerState::kLeft;
    if (process != here().value && !left && !cut_off({process})) return FreezeAnswer::kNotYet;
  }
  return stands_still() ? FreezeAnswer::kReady : FreezeAnswer::kNotYet;
}

bool SpaceCore::stands_still() {
  std::vector<dtutils::Transmitter*> ways;
  for (std::uint32_t worker = 0; worker < stepping_.size(); ++worker) {
    for (std::uint16_t to = 0; to < fabric_.founders(); ++to) {
      ways.push_back(cut_off({to}) ? nullptr : &fabric_.transmitter_of(worker, {to}));
    }
  }
  std::vector<dtutils::RetireTag> posted;
  {
    const std::scoped_lock lock(mutex_);
    // The home is gone, or the call is an old one, and what it answers does not matter.
    if (frozen_.load(std::memory_order_relaxed) == 0) return false;
    if (expedited_) (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    for (const Stepping& stepping : stepping_) {
      if (stepping.flag.load(std::memory_order_seq_cst) != 0) return false;
    }
    // Once a freeze, since a home that asks again would wait again from then on.
    if (posted_.empty()) {
      for (const dtutils::Transmitter* way : ways) {
        posted_.push_back(way == nullptr ? dtutils::RetireTag{} : way->tag());
      }
    }
    posted = posted_;
  }
  for (std::size_t i = 0; i < ways.size(); ++i) {
    // A broken one leads to a process that is gone, and what was for it does not matter.
    if (ways[i] != nullptr && !ways[i]->wait(posted[i], kWaitForOne) && !ways[i]->broken()) {
      return false;
    }
  }
  return true;
}

void SpaceCore::thaw(dsfabric::ProcessId home, std::uint64_t repair) noexcept {
  const std::scoped_lock lock(mutex_);
  Freeze& freeze = freezes_[home.value];
  freeze.over = std::max(freeze.over, repair);
  if (freeze.by == 0 || freeze.by > repair) return;
  freeze.by = 0;
  // Release: pairs with Step, which then sees what the home has written.
  frozen_.fetch_sub(1, std::memory_order_release);
}

void SpaceCore::thaw_from_gone() noexcept {
  for (std::uint16_t i = 0; i < freezes_.size(); ++i) {
    if (fabric_.state({i}) != dsfabric::PeerState::kActive) thaw({i}, kAllRepairs);
  }
}

std::vector<dsfabric::ProcessId> SpaceCore::frozen_by() {
  const std::scoped_lock lock(mutex_);
  std::vector<dsfabric::ProcessId> homes;
  for (std::uint16_t i = 0; i < freezes_.size(); ++i) {
    if (freezes_[i].by != 0) homes.push_back({i});
  }
  return homes;
}

}  // namespace locks::detail
