// SPDX-License-Identifier: MIT
// The fast path: a write of one element between regions that the last one has used.
#pragma once

#include "shm/execute.hpp"
#include "shm/queue_pair.hpp"
#include "software/copy.hpp"

namespace dtutils::shm {

/// What a plain write needs of its request, read before the send lock is taken: these loads then
/// overlap with the wait for the lock, instead of coming after it. Each field is read by itself,
/// see read_alone.
struct PlainWrite {
  explicit PlainWrite(const ibv_send_wr& request) noexcept
      : plain(read_alone(request.opcode) == IBV_WR_RDMA_WRITE && read_alone(request.num_sge) == 1),
        flags(request.send_flags),
        remote_address(request.wr.rdma.remote_addr),
        rkey(request.wr.rdma.rkey) {
    if (!plain) return;
    const ibv_sge& element = *request.sg_list;
    address = element.addr;
    length = element.length;
    lkey = element.lkey;
  }

  bool plain;
  unsigned flags;
  std::uint64_t remote_address;
  std::uint32_t rkey;
  std::uint32_t length = 0;
  std::uint64_t address = 0;
  std::uint32_t lkey = 0;
};

/// Executes the write if its regions are in the window and everything is in order. False: nothing
/// was done, and execute() finds out why. Under the send lock.
inline bool execute_plain_write(QueuePair& qp, const PlainWrite& write) noexcept {
  const WriteWindow& window = qp.window;
  const Translation* remote = window.remote;
  if (remote == nullptr || write.rkey != window.rkey || write.length > kMaxMessage ||
      !within(write.remote_address, write.length, remote->begin, remote->length)) {
    return false;
  }
  if ((write.flags & IBV_SEND_INLINE) == 0) {
    if (window.local == nullptr) return false;
    const RegionEntry& local = *window.local;
    if (write.lkey != window.lkey ||
        !within(write.address, write.length, local.address, local.length) ||
        local.key.load(std::memory_order_seq_cst) != (write.lkey & ~kLocalKeyBit)) {
      return false;
    }
  } else if (write.length > qp.max_inline) {
    return false;
  }
  if (!may_write(qp, *remote)) return false;
  void* to = remote->local + (write.remote_address - remote->begin);
  const auto* from = reinterpret_cast<const void*>(write.address);
  if (!place_word(to, from, write.length)) place_bytes(to, from, write.length);
  return true;
}

}  // namespace dtutils::shm
