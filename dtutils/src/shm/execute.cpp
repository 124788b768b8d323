// SPDX-License-Identifier: MIT
// What the adapter's engine does with one work request: check, move the bytes, tell the receiver.
#include <algorithm>

#include "shm/chaos.hpp"
#include "shm/copy.hpp"
#include "shm/queue_pair.hpp"
#include "shm/receive.hpp"

namespace dtutils::shm {
namespace {

bool within(std::uint64_t address, std::uint64_t length, std::uint64_t begin,
            std::uint64_t size) noexcept {
  return address >= begin && length <= size && address - begin <= size - length;
}

bool local_access_allowed(const QueuePair& qp, const ibv_sge& sge, bool write) noexcept {
  if (sge.length == 0) return true;
  const std::uint32_t key = sge.lkey & ~kLocalKeyBit;
  const RegionEntry& region = qp.own.shared().regions[region_index(key)];
  return sge.lkey != key && region.key.load(std::memory_order_relaxed) == key &&
         region.pd == qp.pd && (!write || (region.access & IBV_ACCESS_LOCAL_WRITE) != 0) &&
         within(sge.addr, sge.length, region.address, region.length);
}

bool all_local_access_allowed(const QueuePair& qp, const ibv_send_wr& request,
                              bool write) noexcept {
  if ((request.send_flags & IBV_SEND_INLINE) != 0) return true;
  return std::all_of(request.sg_list, request.sg_list + request.num_sge,
                     [&](const ibv_sge& sge) { return local_access_allowed(qp, sge, write); });
}

std::uint64_t total_length(const ibv_send_wr& request) noexcept {
  std::uint64_t total = 0;
  for (int i = 0; i < request.num_sge; ++i) total += request.sg_list[i].length;
  return total;
}

/// The region of `key` in the peer if it is alive and of the receiving pair's domain.
const Translation* find_region(QueuePair& qp, std::uint32_t key) noexcept {
  const Translation* region = qp.region;
  if (region == nullptr || region->key != key) {
    region = qp.peer->translate(key);
    if (region == nullptr) return nullptr;
    qp.region = region;
  }
  // seq_cst: after the send lock; pairs with dereg_mr, see send_lock.hpp.
  if (region->live->key.load(std::memory_order_seq_cst) != key) return nullptr;
  return region->pd == qp.remote->pd ? region : nullptr;
}

const Translation* remote_region(QueuePair& qp, std::uint64_t address, std::uint64_t length,
                                 std::uint32_t rkey, std::uint32_t access) noexcept {
  const Translation* region = find_region(qp, rkey);
  const bool allowed = region != nullptr && (region->access & qp.remote->access & access) != 0 &&
                       within(address, length, region->begin, region->length);
  return allowed ? region : nullptr;
}

void place(QueuePair& qp, void* to, const void* from, std::size_t length) noexcept {
  if (place_word(to, from, length)) return;
  if (qp.chaos != nullptr) {
    place_bytes_shuffled(to, from, length, qp.chaos->random());
  } else {
    place_bytes(to, from, length);
  }
}

int copy_failed(QueuePair& qp) noexcept {
  qp.vendor_error = qp.peer->can_copy() ? kNoVendorError : kCannotCopy;
  return qp.peer->can_copy() ? IBV_WC_REM_OP_ERR : IBV_WC_GENERAL_ERR;
}

int to_remote(QueuePair& qp, const Translation& region, std::uint64_t address, const void* from,
              std::size_t length) noexcept {
  if (region.local != nullptr) {
    place(qp, region.local + (address - region.begin), from, length);
    return IBV_WC_SUCCESS;
  }
  return qp.peer->write_remote(address, from, length) == 0 ? IBV_WC_SUCCESS : copy_failed(qp);
}

/// Remembers the regions of a write that was found to be in order.
void open_window(QueuePair& qp, const ibv_send_wr& request, const Translation& region) noexcept {
  if (region.local == nullptr) return;
  qp.window.rkey = region.key;
  qp.window.remote = &region;
  // Of several elements the first may be an empty one, whose key nobody looked at.
  if ((request.send_flags & IBV_SEND_INLINE) != 0 || request.num_sge != 1) return;
  const std::uint32_t lkey = request.sg_list[0].lkey;
  qp.window.lkey = lkey;
  qp.window.local = &qp.own.shared().regions[region_index(lkey & ~kLocalKeyBit)];
}

int write_memory(QueuePair& qp, const ibv_send_wr& request, std::uint64_t length) noexcept {
  if (length == 0) return IBV_WC_SUCCESS;
  std::uint64_t address = request.wr.rdma.remote_addr;
  const Translation* region =
      remote_region(qp, address, length, request.wr.rdma.rkey, IBV_ACCESS_REMOTE_WRITE);
  if (region == nullptr) return IBV_WC_REM_ACCESS_ERR;
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

int read_memory(QueuePair& qp, const ibv_send_wr& request) noexcept {
  const std::uint64_t length = total_length(request);
  if (length == 0) return IBV_WC_SUCCESS;
  std::uint64_t address = request.wr.rdma.remote_addr;
  const Translation* region =
      remote_region(qp, address, length, request.wr.rdma.rkey, IBV_ACCESS_REMOTE_READ);
  if (region == nullptr) return IBV_WC_REM_ACCESS_ERR;
  for (int i = 0; i < request.num_sge; ++i) {
    const ibv_sge& sge = request.sg_list[i];
    void* to = reinterpret_cast<void*>(sge.addr);
    if (region->local != nullptr) {
      place(qp, to, region->local + (address - region->begin), sge.length);
    } else if (qp.peer->read_remote(to, address, sge.length) != 0) {
      return copy_failed(qp);
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
  if (region == nullptr || region->local == nullptr) return IBV_WC_REM_ACCESS_ERR;
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

/// Copies the message into the buffers of the receive; false when they are too small or invalid.
bool scatter(QueuePair& qp, const ibv_send_wr& request, const Receive& receive,
             ibv_wc_status& receiver_status) noexcept {
  std::uint32_t element = 0;
  std::uint32_t offset = 0;
  for (int i = 0; i < request.num_sge; ++i) {
    const auto* from = reinterpret_cast<const std::byte*>(request.sg_list[i].addr);
    std::uint32_t left = request.sg_list[i].length;
    while (left != 0) {
      while (element < receive.sge_count && offset == receive.elements[element].length) {
        ++element;
        offset = 0;
      }
      if (element == receive.sge_count) {
        receiver_status = IBV_WC_LOC_LEN_ERR;
        return false;
      }
      const ibv_sge& into = receive.elements[element];
      const std::uint32_t part = std::min(left, into.length - offset);
      const Translation* region = find_region(qp, into.lkey & ~kLocalKeyBit);
      if (region == nullptr || (into.lkey & kLocalKeyBit) == 0 ||
          (region->access & IBV_ACCESS_LOCAL_WRITE) == 0 ||
          !within(into.addr + offset, part, region->begin, region->length) ||
          to_remote(qp, *region, into.addr + offset, from, part) != IBV_WC_SUCCESS) {
        receiver_status = IBV_WC_LOC_PROT_ERR;
        return false;
      }
      from += part;
      left -= part;
      offset += part;
    }
  }
  return true;
}

bool has_immediate(ibv_wr_opcode opcode) noexcept {
  return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/// SEND and WRITE WITH IMMEDIATE: both use up a receive of the peer.
int send_message(QueuePair& qp, const ibv_send_wr& request) noexcept {
  if (qp.chaos != nullptr && qp.rnr_retry != 0 && qp.chaos->inject_rnr()) return kReceiverNotReady;
  const bool write = request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  const std::uint64_t length = total_length(request);
  ReceiveQueueEntry& queue = qp.remote_segment->receive_queues[qp.remote->receive_queue];
  if (write && length != 0 &&
      remote_region(qp, request.wr.rdma.remote_addr, length, request.wr.rdma.rkey,
                    IBV_ACCESS_REMOTE_WRITE) == nullptr) {
    return IBV_WC_REM_ACCESS_ERR;
  }
  Receive receive;
  if (!take_receive(*qp.remote_segment, queue, *qp.remote, receive)) return kReceiverNotReady;
  Completion completion;
  completion.wr_id = receive.wr_id;
  completion.opcode = write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  completion.length = static_cast<std::uint32_t>(length);
  completion.qp_num = qp.remote->qp_num.load(std::memory_order_relaxed);
  completion.source_qp = qp.verbs.qp_num;
  completion.solicited = (request.send_flags & IBV_SEND_SOLICITED) != 0;
  if (has_immediate(request.opcode)) {
    completion.flags = IBV_WC_WITH_IMM;
    completion.immediate = request.imm_data;
  }
  int status = IBV_WC_SUCCESS;
  if (write) {
    status = write_memory(qp, request, length);
  } else if (!scatter(qp, request, receive, completion.status)) {
    status = completion.status == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR;
  }
  if (status != IBV_WC_SUCCESS && completion.status == IBV_WC_SUCCESS) {
    completion.status = IBV_WC_WR_FLUSH_ERR;
  }
  CompletionQueueEntry& cq = qp.remote_segment->completion_queues[qp.remote->receive_cq];
  const Push pushed = push_completion(*qp.remote_segment, cq, {completion.qp_num, true}, completion,
                                      &qp.remote->in_flight_completion);
  finish_receive(*qp.remote);
  if (pushed != Push::kDone) qp.peer->ring(cq.channel, qp.remote->receive_cq);
  return pushed == Push::kOverrun ? static_cast<int>(IBV_WC_REM_OP_ERR) : status;
}

}  // namespace

bool execute_plain_write(QueuePair& qp, const ibv_send_wr& request) noexcept {
  const ibv_sge& sge = request.sg_list[0];
  const WriteWindow& window = qp.window;
  const Translation* remote = window.remote;
  const std::uint32_t rkey = request.wr.rdma.rkey;
  if (remote == nullptr || rkey != window.rkey ||
      !within(request.wr.rdma.remote_addr, sge.length, remote->begin, remote->length)) {
    return false;
  }
  if ((request.send_flags & IBV_SEND_INLINE) == 0) {
    if (window.local == nullptr) return false;
    const RegionEntry& local = *window.local;
    if (sge.lkey != window.lkey || !within(sge.addr, sge.length, local.address, local.length) ||
        local.key.load(std::memory_order_relaxed) != (sge.lkey & ~kLocalKeyBit)) {
      return false;
    }
  } else if (sge.length > qp.max_inline) {
    return false;
  }
  // seq_cst, both: after the send lock; see send_lock.hpp.
  if (qp.remote->gate.load(std::memory_order_seq_cst) != qp.remote_gate ||
      remote->live->key.load(std::memory_order_seq_cst) != rkey ||
      (qp.remote->access & IBV_ACCESS_REMOTE_WRITE) == 0) {
    return false;
  }
  void* to = remote->local + (request.wr.rdma.remote_addr - remote->begin);
  const auto* from = reinterpret_cast<const void*>(sge.addr);
  if (!place_word(to, from, sge.length)) place_bytes(to, from, sge.length);
  return true;
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
