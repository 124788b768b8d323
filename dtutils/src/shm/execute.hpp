// SPDX-License-Identifier: MIT
// Steps that executing a one-sided request and executing a message have in common.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm/queue_pair.hpp"
#include "software/requests.hpp"

namespace dtutils::shm {

/// A load that the compiler does not widen to cover the field beside it. The request was stored a
/// moment ago, field by field; a load over two of those stores cannot be forwarded from the store
/// buffer and would wait until both have left it (about 3 ns a post).
template <class Field>
Field read_alone(const Field& field) noexcept {
  return *const_cast<const volatile Field*>(&field);
}

// All under the send lock of `qp`. Those that return int give an ibv_wc_status.

/// Before a request that is not the first since the lock was taken. The InfiniBand Architecture
/// (10.8.3.3) keeps a READ behind an earlier WRITE of its queue pair: who misses in the READ what
/// the peer stored knows that the peer finds the WRITE if it looks after its store. But here the
/// load may pass an earlier store of this thread. A locked instruction, as taking the lock is one,
/// stays between them. No fence, since the thread sanitizer does not know fences.
inline void keep_behind_writes(const QueuePair& qp, const ibv_send_wr& request) noexcept {
  if (request.opcode != IBV_WR_RDMA_READ) return;
  qp.entry->send_lock.fetch_add(0, std::memory_order_seq_cst);
}

/// The region of `key` in the peer if it is alive and of protection domain `pd` there.
const Translation* find_region(QueuePair& qp, std::uint32_t key, std::uint32_t pd) noexcept;
/// The same, if the region and the peer's queue pair grant `access` to the range.
const Translation* remote_region(QueuePair& qp, std::uint64_t address, std::uint64_t length,
                                 std::uint32_t rkey, std::uint32_t access) noexcept;
/// What a request fails with whose remote region was not found.
int no_region(const QueuePair& qp) noexcept;

/// Nothing that the peer did since forbids a write into this region, which it granted before.
inline bool may_write(const QueuePair& qp, const Translation& region) noexcept {
  const QueuePairEntry& peer = *qp.remote;
  // seq_cst, both: after the send lock; see send_lock.hpp.
  return peer.gate.load(std::memory_order_seq_cst) == qp.remote_gate && region.is_live() &&
         (peer.access.load(std::memory_order_relaxed) & IBV_ACCESS_REMOTE_WRITE) != 0;
}

/// Copies to an address that lies in `region`.
int to_remote(QueuePair& qp, const Translation& region, std::uint64_t address, const void* from,
              std::size_t length) noexcept;
/// The RDMA write in `request`, of `length` bytes in total.
int write_memory(QueuePair& qp, const ibv_send_wr& request, std::uint64_t length) noexcept;

/// The two halves of a READ or atomic. First all is checked, and an atomic changes its target,
/// which held `old_value`; then the answer lands in the elements of the request. Also
/// kNotConnected, in the first half.
int begin_answer(QueuePair& qp, const ibv_send_wr& request, std::uint64_t& old_value) noexcept;
int finish_answer(QueuePair& qp, const ibv_send_wr& request, std::uint64_t old_value) noexcept;

/// SEND and WRITE WITH IMMEDIATE: both use up a receive of the peer. Also kReceiverNotReady.
int send_message(QueuePair& qp, const ibv_send_wr& request) noexcept;

}  // namespace dtutils::shm
