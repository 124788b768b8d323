// SPDX-License-Identifier: MIT
// The fastest path: an unsignaled write of a few inline words, between regions the last one used.
#pragma once

#include "shm/execute.hpp"
#include "shm/queue_pair.hpp"
#include "software/copy.hpp"

namespace dtutils::shm {

/// What a small write needs of its request, looked at before the send lock is taken: these loads
/// then overlap with the wait for the lock. Each field is read by itself, see read_alone.
struct SmallWrite {
  SmallWrite(const QueuePair& qp, const ibv_send_wr& request) noexcept {
    if (read_alone(request.send_flags) != IBV_SEND_INLINE ||
        read_alone(request.opcode) != IBV_WR_RDMA_WRITE || request.next != nullptr) {
      return;
    }
    const auto count = static_cast<std::uint32_t>(read_alone(request.num_sge));
    if (count - 1 >= qp.max_sge) return;
    first = request.sg_list;
    end = first + count;
    remote_address = request.wr.rdma.remote_addr;
    rkey = request.wr.rdma.rkey;
    std::uint64_t odd = remote_address;
    const ibv_sge* each = first;
    do {
      const std::uint64_t part = read_alone(each->length);
      length += part;
      odd |= part;
    } while (++each != end);
    // No bytes, parts of words, or a pair that signals everything: the long way.
    usual = length - 1 < qp.small_limit && (odd & 7) == 0 &&
            qp.send_state.load(std::memory_order_relaxed) == SendState::kReady;
  }

  bool usual = false;
  const ibv_sge* first;
  const ibv_sge* end;
  std::uint64_t remote_address;
  std::uint32_t rkey;
  std::uint64_t length = 0;
};

/// Executes the write. False: nothing was done, because something is unusual. Under the send lock.
inline bool execute_small_write(QueuePair& qp, const SmallWrite& write) noexcept {
  const Translation* const remote = qp.window.remote;
  if (remote == nullptr || write.rkey != qp.window.rkey || !qp.has_room() ||
      !within(write.remote_address, write.length, remote->begin, remote->length) ||
      !may_write(qp, *remote)) {
    return false;
  }
  std::byte* to = remote->local + (write.remote_address - remote->begin);
  qp.stride.follow(to, write.length);
  const ibv_sge* each = write.first;
  do {
    to = place_words(to, reinterpret_cast<const std::byte*>(each->addr), each->length);
  } while (++each != write.end);
  ++qp.posted;
  return true;
}

}  // namespace dtutils::shm
