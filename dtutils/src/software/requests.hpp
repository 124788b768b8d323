// SPDX-License-Identifier: MIT
// What a work request says: what it moves, whether it can be posted, and how it completes.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "software/limits.hpp"

namespace dtutils::software {

constexpr bool within(std::uint64_t address, std::uint64_t length, std::uint64_t begin,
                      std::uint64_t size) noexcept {
  return address >= begin && length <= size && address - begin <= size - length;
}

/// READs and atomics: the answer of the peer goes into the elements of the request.
constexpr bool brings_data(ibv_wr_opcode opcode) noexcept {
  return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
         opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

constexpr bool has_immediate(ibv_wr_opcode opcode) noexcept {
  return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/// Bytes of the request.
inline std::uint64_t total_length(const ibv_send_wr& request) noexcept {
  std::uint64_t total = 0;
  for (int i = 0; i < request.num_sge; ++i) total += request.sg_list[i].length;
  return total;
}

/// What a queue pair takes.
struct RequestLimits {
  std::uint32_t max_sge;
  std::uint32_t max_inline;
  /// It may start READs and atomics.
  bool reads_allowed;
};

inline bool is_valid(const ibv_send_wr& request, const RequestLimits& limits) noexcept {
  if (request.num_sge < 0 || static_cast<std::uint32_t>(request.num_sge) > limits.max_sge ||
      request.opcode > IBV_WR_ATOMIC_FETCH_AND_ADD) {
    return false;
  }
  const std::uint64_t length = total_length(request);
  if (length > kMaxMessage) return false;
  if (!brings_data(request.opcode)) {
    return (request.send_flags & IBV_SEND_INLINE) == 0 || length <= limits.max_inline;
  }
  // Inline is for bytes that leave, and the buffer of the answer has to be looked at.
  return (request.send_flags & IBV_SEND_INLINE) == 0 && limits.reads_allowed;
}

constexpr ibv_wc_opcode completion_opcode(ibv_wr_opcode opcode) noexcept {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    default:
      return IBV_WC_SEND;
  }
}

/// Errors that the responder found: it breaks its side as well.
constexpr bool breaks_responder(ibv_wc_status status) noexcept {
  return status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
         status == IBV_WC_REM_OP_ERR;
}

}  // namespace dtutils::software
