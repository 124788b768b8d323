// SPDX-License-Identifier: MIT
// What the adapter's engine does with one work request: check it and move the bytes.
#include "shm/execute.hpp"

#include <algorithm>
#include <cerrno>

#include "shm/chaos.hpp"
#include "shm/copy.hpp"

namespace dtutils::shm {
namespace {

// Keys are loaded seq_cst, the local ones too: after the send lock; pairs with dereg_mr, see
// send_lock.hpp.
bool local_access_allowed(const QueuePair& qp, const ibv_sge& sge, bool write) noexcept {
  if (sge.length == 0) return true;
  const std::uint32_t key = sge.lkey & ~kLocalKeyBit;
  const RegionEntry& region = qp.own.shared().regions[region_index(key)];
  return sge.lkey != key && region.key.load(std::memory_order_seq_cst) == key &&
         region.pd == qp.pd && (!write || (region.access & IBV_ACCESS_LOCAL_WRITE) != 0) &&
         within(sge.addr, sge.length, region.address, region.length);
}

bool all_local_access_allowed(const QueuePair& qp, const ibv_send_wr& request,
                              bool write) noexcept {
  if ((request.send_flags & IBV_SEND_INLINE) != 0) return true;
  return std::all_of(request.sg_list, request.sg_list + request.num_sge,
                     [&](const ibv_sge& sge) { return local_access_allowed(qp, sge, write); });
}

void place(QueuePair& qp, void* to, const void* from, std::size_t length) noexcept {
  if (place_word(to, from, length)) return;
  if (qp.chaos != nullptr) {
    place_bytes_shuffled(to, from, length, qp.chaos->random());
  } else {
    place_bytes(to, from, length);
  }
}

/// `code` is the errno value of process_vm_readv or process_vm_writev.
int copy_failed(QueuePair& qp, int code) noexcept {
  if (code == ESRCH) {
    qp.vendor_error = kPeerDied;
    return IBV_WC_RETRY_EXC_ERR;
  }
  if (code != EPERM && qp.peer->can_copy()) return IBV_WC_REM_OP_ERR;
  qp.vendor_error = kCannotCopy;
  return IBV_WC_GENERAL_ERR;
}

/// Remembers the regions of a write that was found to be in order.
void open_window(QueuePair& qp, const ibv_send_wr& request, const Translation& region) noexcept {
  if (region.local == nullptr || qp.chaos != nullptr || !qp.deferred.empty()) return;
  qp.window.rkey = region.key;
  qp.window.remote = &region;
  // Of several elements the first may be an empty one, whose key nobody looked at.
  if ((request.send_flags & IBV_SEND_INLINE) != 0 || request.num_sge != 1) return;
  const std::uint32_t lkey = request.sg_list[0].lkey;
  qp.window.lkey = lkey;
  qp.window.local = &qp.own.shared().regions[region_index(lkey & ~kLocalKeyBit)];
}

int read_memory(QueuePair& qp, const ibv_send_wr& request) noexcept {
  const std::uint64_t length = total_length(request);
  if (length == 0) return IBV_WC_SUCCESS;
  std::uint64_t address = request.wr.rdma.remote_addr;
  const Translation* region =
      remote_region(qp, address, length, request.wr.rdma.rkey, IBV_ACCESS_REMOTE_READ);
  if (region == nullptr) return no_region(qp);
  for (int i = 0; i < request.num_sge; ++i) {
    const ibv_sge& sge = request.sg_list[i];
    void* to = reinterpret_cast<void*>(sge.addr);
    if (region->local != nullptr) {
      place(qp, to, region->local + (address - region->begin), sge.length);
    } else if (const int code = qp.peer->read_remote(to, address, sge.length); code != 0) {
      return copy_failed(qp, code);
    }
    address += sge.length;
  }
  return IBV_WC_SUCCESS;
}

int atomic_operation(QueuePair& qp, const ibv_send_wr& request) noexcept {
  const auto& atomic = request.wr.atomic;
  if ((atomic.remote_addr & 7) != 0 || total_length(request) != 8 || request.num_sge != 1) {
    return IBV_WC_REM_INV_REQ_ERR;
  }
  const Translation* region =
      remote_region(qp, atomic.remote_addr, 8, atomic.rkey, IBV_ACCESS_REMOTE_ATOMIC);
  if (region == nullptr) return no_region(qp);
  if (region->local == nullptr) return IBV_WC_REM_ACCESS_ERR;
  auto* target =
      reinterpret_cast<std::uint64_t*>(region->local + (atomic.remote_addr - region->begin));
  std::uint64_t old;
  if (request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    old = __atomic_fetch_add(target, atomic.compare_add, __ATOMIC_ACQ_REL);
  } else {
    old = atomic.compare_add;
    __atomic_compare_exchange_n(target, &old, atomic.swap, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
  }
  place_bytes(reinterpret_cast<void*>(request.sg_list[0].addr), &old, sizeof old);
  return IBV_WC_SUCCESS;
}

}  // namespace

std::uint64_t total_length(const ibv_send_wr& request) noexcept {
  std::uint64_t total = 0;
  for (int i = 0; i < request.num_sge; ++i) total += request.sg_list[i].length;
  return total;
}

const Translation* find_region(QueuePair& qp, std::uint32_t key, std::uint32_t pd) noexcept {
  const Translation* region = qp.region;
  if (region == nullptr || region->key != key) {
    bool refused = false;
    region = qp.peer->regions().find(key, refused);
    if (refused) qp.vendor_error = kCannotMap;
    if (region == nullptr) return nullptr;
    qp.region = region;
  }
  return region->is_live() && region->pd == pd ? region : nullptr;
}

int no_region(const QueuePair& qp) noexcept {
  return qp.vendor_error == kCannotMap ? IBV_WC_GENERAL_ERR : IBV_WC_REM_ACCESS_ERR;
}

const Translation* remote_region(QueuePair& qp, std::uint64_t address, std::uint64_t length,
                                 std::uint32_t rkey, std::uint32_t access) noexcept {
  const Translation* region = find_region(qp, rkey, qp.remote->pd);
  const std::uint32_t granted = qp.remote->access.load(std::memory_order_relaxed);
  const bool allowed = region != nullptr && (region->access & granted & access) != 0 &&
                       within(address, length, region->begin, region->length);
  return allowed ? region : nullptr;
}

int to_remote(QueuePair& qp, const Translation& region, std::uint64_t address, const void* from,
              std::size_t length) noexcept {
  if (region.local != nullptr) {
    place(qp, region.local + (address - region.begin), from, length);
    return IBV_WC_SUCCESS;
  }
  const int code = qp.peer->write_remote(address, from, length);
  return code == 0 ? IBV_WC_SUCCESS : copy_failed(qp, code);
}

int write_memory(QueuePair& qp, const ibv_send_wr& request, std::uint64_t length) noexcept {
  if (length == 0) return IBV_WC_SUCCESS;
  std::uint64_t address = request.wr.rdma.remote_addr;
  const Translation* region =
      remote_region(qp, address, length, request.wr.rdma.rkey, IBV_ACCESS_REMOTE_WRITE);
  if (region == nullptr) return no_region(qp);
  open_window(qp, request, *region);
  for (int i = 0; i < request.num_sge; ++i) {
    const ibv_sge& sge = request.sg_list[i];
    const int status =
        to_remote(qp, *region, address, reinterpret_cast<const void*>(sge.addr), sge.length);
    if (status != IBV_WC_SUCCESS) return status;
    address += sge.length;
  }
  return IBV_WC_SUCCESS;
}

int execute(QueuePair& qp, const ibv_send_wr& request) noexcept {
  // seq_cst: after the send lock; pairs with the owner that closes the gate, see send_lock.hpp.
  if (qp.remote->gate.load(std::memory_order_seq_cst) != qp.remote_gate) return kNotConnected;
  const bool into_local = request.opcode == IBV_WR_RDMA_READ ||
                          request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
                          request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  if (!all_local_access_allowed(qp, request, into_local)) return IBV_WC_LOC_PROT_ERR;
  switch (request.opcode) {
    case IBV_WR_RDMA_WRITE:
      return write_memory(qp, request, total_length(request));
    case IBV_WR_RDMA_READ:
      return read_memory(qp, request);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return atomic_operation(qp, request);
    default:
      return send_message(qp, request);
  }
}

}  // namespace dtutils::shm
