// SPDX-License-Identifier: MIT
// Messages that use up a receive of the peer: take it, fill its buffers, complete it over there.
#include <algorithm>

#include "shm/chaos.hpp"
#include "shm/execute.hpp"
#include "shm/receive.hpp"

namespace dtutils::shm {
namespace {

/// Copies the message into the buffers of the receive; false when they are too small or invalid.
bool scatter(QueuePair& qp, const ibv_send_wr& request, const Receive& receive, std::uint32_t pd,
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
      const Translation* region = find_region(qp, into.lkey & ~kLocalKeyBit, pd);
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

}  // namespace

int send_message(QueuePair& qp, const ibv_send_wr& request) noexcept {
  if (qp.chaos != nullptr && qp.rnr_retry != 0 && qp.chaos->inject_rnr()) return kReceiverNotReady;
  const bool write = request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  const std::uint64_t length = total_length(request);
  const ReceiveQueueView& queue = *qp.remote_receives;
  if (write && length != 0 &&
      remote_region(qp, request.wr.rdma.remote_addr, length, request.wr.rdma.rkey,
                    IBV_ACCESS_REMOTE_WRITE) == nullptr) {
    return no_region(qp);
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
  } else if (!scatter(qp, request, receive, queue.pd, completion.status)) {
    status = completion.status == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR;
  }
  if (status != IBV_WC_SUCCESS && completion.status == IBV_WC_SUCCESS) {
    completion.status = IBV_WC_WR_FLUSH_ERR;
  }
  const CompletionQueueView& cq = *qp.remote_completions;
  const Push pushed = push_completion(*qp.remote_segment, cq, {completion.qp_num, true}, completion,
                                      &qp.remote->in_flight_completion);
  finish_receive(*qp.remote);
  if (pushed != Push::kDone) qp.remote_bell.ring(cq.index);
  return pushed == Push::kOverrun ? static_cast<int>(IBV_WC_REM_OP_ERR) : status;
}

}  // namespace dtutils::shm
