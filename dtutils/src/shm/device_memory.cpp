// SPDX-License-Identifier: MIT
// The shm device's memory registration.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "dtutils/error.hpp"
#include "dtutils/shared_segment.hpp"
#include "shm/device.hpp"
#include "shm/send_lock.hpp"

namespace dtutils::shm {
namespace {

[[noreturn]] void refuse(void* address, std::size_t length, const char* happened,
                         const char* remedy, int code) {
  throw Error(fmt::format("shm memory region [{}, +{})", address, length), happened, remedy, code);
}

/// A memory registration of this process.
struct Region {
  explicit Region(OwnSegment& own) : index(own.take_region()) {}
  ibv_mr verbs{};
  const IndexLease index;
};

/// True when every page of the range is mapped in this process.
bool is_mapped(void* address, std::size_t length) {
  constexpr std::size_t kStride = kPage * 4096;
  std::array<unsigned char, 4096> residency;
  auto begin = reinterpret_cast<std::uintptr_t>(address) & ~(kPage - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(address) + length;
  for (; begin < end; begin += kStride) {
    const std::size_t part = std::min<std::size_t>(kStride, end - begin);
    if (mincore(reinterpret_cast<void*>(begin), part, residency.data()) != 0) return false;
  }
  return true;
}

}  // namespace

ibv_mr* ShmDevice::reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  constexpr int kOffered = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                           IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  if ((access & ~kOffered) != 0) {
    refuse(address, length, "an access flag was given that is not offered",
           "use IBV_ACCESS_LOCAL_WRITE, _REMOTE_WRITE, _REMOTE_READ and _REMOTE_ATOMIC", EINVAL);
  }
  if (length == 0 || begin + length < begin) {
    refuse(address, length, "the range is empty or wraps around", "register at least one byte",
           EINVAL);
  }
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
      (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    refuse(address, length, "remote write or atomic access was asked for without local write",
           "add IBV_ACCESS_LOCAL_WRITE, as ibv_reg_mr(3) demands", EINVAL);
  }
  const auto location = SharedSegment::find(address, length);
  if (!location && (access & IBV_ACCESS_REMOTE_ATOMIC) != 0) {
    refuse(address, length, "remote atomics need memory that peers can map",
           "allocate it with RDMAAllocator or SharedSegment, or leave out IBV_ACCESS_REMOTE_ATOMIC",
           EOPNOTSUPP);
  }
  if (!location && !is_mapped(address, length)) {
    refuse(address, length, "a part of the range is not mapped in this process",
           "check the length; register memory that has been allocated", EFAULT);
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
  // 15 bits, never 0, so that a key is never 0 and its top bit is free for the lkey.
  std::uint32_t& generation = region_generations_[index];
  generation = generation % 0x7fff + 1;
  const std::uint32_t key = (generation << 16) | index;
  region->verbs = {.context = &context_,
                   .pd = pd,
                   .addr = address,
                   .length = length,
                   .handle = index,
                   .lkey = key | kLocalKeyBit,
                   .rkey = key};
  // Release: pairs with the loads in execute.cpp and RegionCache::find_slowly.
  entry.key.store(key, std::memory_order_release);
  return &region.release()->verbs;
}

void ShmDevice::dereg_mr(ibv_mr* mr) noexcept {
  if (!in_child()) {
    RegionEntry& entry = own_.shared().regions[mr->handle];
    // seq_cst: pairs with the loads in execute.cpp; see send_lock.hpp.
    entry.key.store(0, std::memory_order_seq_cst);
    wait_for_senders();
    // Relaxed: written by peers that we just waited for.
    if (entry.in_use.exchange(0, std::memory_order_relaxed) != 0) agent_.ring_all();
  }
  delete reinterpret_cast<Region*>(mr);
}

void ShmDevice::wait_for_senders() noexcept {
  agent_.for_each([](QueuePair& qp) {
    wait_until_passed(qp.entry->send_lock, [] { return false; });
    wait_for_peer(qp);
  });
}

void ShmDevice::wait_for_peer(QueuePair& qp) noexcept {
  if (qp.remote == nullptr) return;
  // Our agent may be waiting for a lock that we hold, so we look ourselves.
  wait_until_passed(qp.remote->send_lock, [&] { return qp.peer->look_whether_dead(); });
}

}  // namespace dtutils::shm
