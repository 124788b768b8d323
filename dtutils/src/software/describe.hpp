// SPDX-License-Identifier: MIT
// What software devices say of themselves and of what they make, in the types of libibverbs.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dtutils/device.hpp"
#include "software/limits.hpp"

namespace dtutils::software {

/// `info` still needs its GID, its host and its reason, and `context` its operations.
inline void describe_device(const char* name, DeviceKind kind, ibv_device& device,
                            ibv_context& context, DeviceInfo& info) {
  std::strcpy(device.name, name);
  context.device = &device;
  context.cmd_fd = -1;
  context.async_fd = -1;
  info.name = name;
  info.kind = kind;
  info.port = 1;
  info.mtu = IBV_MTU_4096;
  info.link_layer = IBV_LINK_LAYER_UNSPECIFIED;
  info.max_work_requests = kMaxDepth;
  info.max_scatter_gather = kMaxScatterGather;
  info.max_inline = kMaxInline;
  info.max_completions = kMaxCompletions;
  info.atomics = true;
  info.atomics_with_cpu = true;
}

/// `key` without kLocalKeyBit.
inline ibv_mr describe_region(ibv_pd* pd, void* address, std::size_t length, std::uint32_t index,
                              std::uint32_t key) noexcept {
  return {.context = pd->context,
          .pd = pd,
          .addr = address,
          .length = length,
          .handle = index,
          .lkey = key | kLocalKeyBit,
          .rkey = key};
}

inline ibv_qp describe_queue_pair(ibv_pd* pd, const ibv_qp_init_attr& attributes,
                                  std::uint32_t handle, std::uint32_t number) noexcept {
  return {.context = pd->context,
          .qp_context = attributes.qp_context,
          .pd = pd,
          .send_cq = attributes.send_cq,
          .recv_cq = attributes.recv_cq,
          .srq = attributes.srq,
          .handle = handle,
          .qp_num = number,
          .state = IBV_QPS_RESET,
          .qp_type = IBV_QPT_RC,
          .mutex = {},
          .cond = {},
          .events_completed = 0};
}

}  // namespace dtutils::software
