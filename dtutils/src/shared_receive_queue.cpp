// SPDX-License-Identifier: MIT
// Shared receive queues.
#include "dtutils/shared_receive_queue.hpp"

#include <fmt/format.h>

#include "dtutils/error.hpp"

namespace dtutils {
namespace {

ibv_srq* create(Device& device, ProtectionDomain& pd, std::uint32_t depth) {
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = depth;
  attributes.attr.max_sge = 1;
  ibv_srq* srq = device.create_srq(pd.raw(), attributes);
  if (attributes.attr.max_wr < depth) {
    device.destroy_srq(srq);
    throw Error("shared receive queue",
                fmt::format("device '{}' grants {} receives of {}", device.info().name,
                            attributes.attr.max_wr, depth),
                "ask for a smaller depth");
  }
  return srq;
}

}  // namespace

SharedReceiveQueue::SharedReceiveQueue(ProtectionDomain& pd, std::uint32_t depth)
    : device_(pd.device()), srq_(create(pd.device(), pd, depth)) {}

bool SharedReceiveQueue::post_receive(LocalBuffer buffer, std::uint64_t id) noexcept {
  ibv_sge element{reinterpret_cast<std::uint64_t>(buffer.address), buffer.length, buffer.lkey};
  ibv_recv_wr request{};
  request.wr_id = id;
  request.sg_list = &element;
  request.num_sge = buffer.length != 0;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_srq_recv(srq_, &request, &bad) == 0;
}

}  // namespace dtutils
