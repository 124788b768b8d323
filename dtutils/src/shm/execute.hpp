// SPDX-License-Identifier: MIT
// Steps that executing a one-sided request and executing a message have in common.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm/queue_pair.hpp"

namespace dtutils::shm {

// All under the send lock of `qp`. Those that return int give an ibv_wc_status.

inline bool within(std::uint64_t address, std::uint64_t length, std::uint64_t begin,
                   std::uint64_t size) noexcept {
  return address >= begin && length <= size && address - begin <= size - length;
}

/// Bytes of the request.
std::uint64_t total_length(const ibv_send_wr& request) noexcept;

/// The region of `key` in the peer if it is alive and of protection domain `pd` there.
const Translation* find_region(QueuePair& qp, std::uint32_t key, std::uint32_t pd) noexcept;
/// The same, if the region and the peer's queue pair grant `access` to the range.
const Translation* remote_region(QueuePair& qp, std::uint64_t address, std::uint64_t length,
                                 std::uint32_t rkey, std::uint32_t access) noexcept;
/// What a request fails with whose remote region was not found.
int no_region(const QueuePair& qp) noexcept;

/// Copies to an address that lies in `region`.
int to_remote(QueuePair& qp, const Translation& region, std::uint64_t address, const void* from,
              std::size_t length) noexcept;
/// The RDMA write in `request`, of `length` bytes in total.
int write_memory(QueuePair& qp, const ibv_send_wr& request, std::uint64_t length) noexcept;

/// SEND and WRITE WITH IMMEDIATE: both use up a receive of the peer. Also kReceiverNotReady.
int send_message(QueuePair& qp, const ibv_send_wr& request) noexcept;

}  // namespace dtutils::shm
