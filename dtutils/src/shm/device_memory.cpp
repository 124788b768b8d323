// SPDX-License-Identifier: MIT
// The shm device's memory registration.
#include <fmt/format.h>

#include <cerrno>
#include <optional>

#include "dtutils/error.hpp"
#include "dtutils/shared_segment.hpp"
#include "shm/device.hpp"
#include "shm/send_lock.hpp"
#include "software/describe.hpp"

namespace dtutils::shm {
namespace {

/// A memory registration of this process.
struct Region {
  explicit Region(OwnSegment& own) : index(own.take_region()) {}
  ibv_mr verbs{};
  const IndexLease index;
};

}  // namespace

ibv_mr* ShmDevice::reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  const auto location = SharedSegment::find(address, length);
  check_registration("shm", address, length, access, !location);
  if (!location && (access & IBV_ACCESS_REMOTE_ATOMIC) != 0) {
    throw Error(fmt::format("shm memory region [{}, +{})", address, length),
                "remote atomics need memory that peers can map",
                "allocate it with RDMAAllocator or SharedSegment, or leave out "
                "IBV_ACCESS_REMOTE_ATOMIC",
                EOPNOTSUPP);
  }
  auto region = std::make_unique<Region>(own_);
  const std::uint32_t index = region->index.get();
  RegionEntry& entry = own_.shared().regions[index];
  entry.access = static_cast<std::uint32_t>(access);
  entry.pd = pd->handle;
  entry.address = begin;
  entry.length = length;
  entry.fd = location ? location->fd : -1;
  if (location) {
    entry.inode = location->inode;
    entry.segment_size = location->segment_size;
    entry.segment_offset = location->offset;
  }
  const std::scoped_lock lock(mutex_);
  std::uint32_t& last = generation(region_generations_, index);
  last = next_generation(last);
  const std::uint32_t key = (last << 16) | index;
  region->verbs = software::describe_region(pd, address, length, index, key);
  own_.add_region(key, {begin, length, entry.access, entry.pd});
  // Release: pairs with the loads in execute.cpp and RegionCache::find_slowly.
  entry.key.store(key, std::memory_order_release);
  return &region.release()->verbs;
}

void ShmDevice::dereg_mr(ibv_mr* mr) noexcept {
  const std::shared_ptr<Region> region(reinterpret_cast<Region*>(mr));
  if (!in_child()) {
    RegionEntry& entry = own_.shared().regions[mr->handle];
    // seq_cst: pairs with the loads in execute.cpp; see send_lock.hpp.
    entry.key.store(0, std::memory_order_seq_cst);
    // seq_cst: a peer sets it and then looks at the key, see RegionCache::find_slowly.
    const bool in_use = entry.in_use.load(std::memory_order_seq_cst) != 0;
    wait_for_own_senders();
    if (in_use) wait_for_peers(region);
    own_.remove_region(mr->rkey);
    if (!in_use) return;
    entry.in_use.store(0, std::memory_order_relaxed);
    agent_.ring_all();
  }
}

void ShmDevice::wait_for_own_senders() noexcept {
  agent_.for_each([](QueuePair& qp) { wait_until_passed(qp.entry->send_lock); });
}

void ShmDevice::wait_for_peers(const std::shared_ptr<void>& region) noexcept {
  std::vector<Operation> running;
  agent_.for_each([&](QueuePair& qp) {
    if (qp.remote == nullptr) return;
    Operation operation(qp.peer, qp.remote->send_lock);
    if (operation.runs()) running.push_back(std::move(operation));
  });
  const auto end = std::chrono::steady_clock::now() + kStoppedPatience;
  for (const Operation& operation : running) {
    if (!agent_.is_known_to_stand_still(operation) && operation.wait(end)) continue;
    agent_.keep(region, operation);
    agent_.give_up(operation);
  }
}

void ShmDevice::wait_for_peer(QueuePair& qp) noexcept {
  Operation operation;
  agent_.exclusively([&] {
    if (qp.remote != nullptr) operation = Operation(qp.peer, qp.remote->send_lock);
  });
  if (!operation.runs()) return;
  const auto end = std::chrono::steady_clock::now() + kStoppedPatience;
  if (!agent_.is_known_to_stand_still(operation) && operation.wait(end)) return;
  // One that has died is forgotten; see forget_peer.
  agent_.exclusively([&] {
    if (operation.runs()) qp.outlives = operation;
  });
}

}  // namespace dtutils::shm
