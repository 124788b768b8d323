// SPDX-License-Identifier: MIT
// Completions explained in words.
#include <fmt/format.h>

#include "dtutils/completion_queue.hpp"

namespace dtutils {
namespace {

/// One status: what happened, and what the user should look at.
struct Explanation {
  const char* happened;
  const char* look_at;
};

Explanation explain(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_SUCCESS:
      return {"success", ""};
    case IBV_WC_LOC_LEN_ERR:
      return {"local length error: a message is longer than the buffer for it",
              "post larger receive buffers, or keep a request under the device's largest message"};
    case IBV_WC_LOC_QP_OP_ERR:
      return {"local queue pair operation error: the request does not fit this queue pair",
              "check its opcode, flags, inline bytes and number of scatter/gather elements, and "
              "whether the queue pair is connected"};
    case IBV_WC_LOC_EEC_OP_ERR:
      return {"local end-to-end context operation error",
              "reliable datagrams are not supported; check the device's driver"};
    case IBV_WC_LOC_PROT_ERR:
      return {"local protection error: a local buffer is not covered by a region of its lkey",
              "check address, length and lkey; the region needs local write access to receive "
              "data, must be of the queue pair's protection domain, and must still be registered"};
    case IBV_WC_WR_FLUSH_ERR:
      return {"flushed: the queue pair was already broken or disconnected",
              "the first failed completion of this queue pair names the cause"};
    case IBV_WC_MW_BIND_ERR:
      return {"memory window bind error",
              "check the access flags and bounds of the window and its region"};
    case IBV_WC_BAD_RESP_ERR:
      return {"bad response: the peer answered with an opcode that does not belong here",
              "check whether both sides run the same version and whether one was reset in between"};
    case IBV_WC_LOC_ACCESS_ERR:
      return {"local access error: an arriving write with immediate data met a protection fault",
              "check the access flags of the region that the peer wrote to"};
    case IBV_WC_REM_INV_REQ_ERR:
      return {"remote invalid request: the peer does not accept this operation",
              "check whether its receive buffer is large enough, whether its queue pair allows "
              "remote access of this kind, and whether an atomic's target is 8-byte aligned"};
    case IBV_WC_REM_ACCESS_ERR:
      return {"remote access error: the peer's region does not allow this access",
              "check rkey, bounds and the access flags of the peer's region; it must be of the "
              "protection domain of the peer's queue pair and still be registered"};
    case IBV_WC_REM_OP_ERR:
      return {"remote operation error: the peer could not complete the operation",
              "the peer's own completion of it names the cause"};
    case IBV_WC_RETRY_EXC_ERR:
      return {
          "transport retry counter exceeded: the peer or the path to it is gone",
          "check whether the peer process still runs; otherwise check the cable, the switch, the "
          "path MTU and, on RoCE, that both sides use the same GID type"};
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return {"receiver-not-ready retry counter exceeded: the peer had no receive buffer posted",
              "let the peer post receives earlier or more of them, or raise rnr_retry (7: "
              "without end)"};
    case IBV_WC_LOC_RDD_VIOL_ERR:
      return {"local reliable datagram domain violation",
              "reliable datagrams are not supported; check the device's driver"};
    case IBV_WC_REM_INV_RD_REQ_ERR:
      return {"remote invalid reliable datagram request",
              "reliable datagrams are not supported; check the device's driver"};
    case IBV_WC_REM_ABORT_ERR:
      return {"remote abort: the peer gave the operation up",
              "check what the peer's process reported"};
    case IBV_WC_INV_EECN_ERR:
      return {"invalid end-to-end context number",
              "reliable datagrams are not supported; check the device's driver"};
    case IBV_WC_INV_EEC_STATE_ERR:
      return {"invalid end-to-end context state",
              "reliable datagrams are not supported; check the device's driver"};
    case IBV_WC_FATAL_ERR:
      return {"fatal error of the transport or the device", "check the kernel log (dmesg)"};
    case IBV_WC_RESP_TIMEOUT_ERR:
      return {"response time-out: the peer did not answer in time",
              "check whether the peer process still runs and makes progress"};
    case IBV_WC_GENERAL_ERR:
      return {"general error: the device gave no further reason", "check the vendor code"};
    case IBV_WC_TM_ERR:
      return {"tag matching error", "check the tag matching operations of this queue"};
    case IBV_WC_TM_RNDV_INCOMPLETE:
      return {"tag matching rendezvous is incomplete",
              "the receiver must finish the transfer itself"};
  }
  return {"unknown completion status", "check the vendor code"};
}

const char* name(ibv_wc_opcode opcode) noexcept {
  switch (opcode) {
    case IBV_WC_SEND:
      return "send";
    case IBV_WC_RDMA_WRITE:
      return "RDMA write";
    case IBV_WC_RDMA_READ:
      return "RDMA read";
    case IBV_WC_COMP_SWAP:
      return "compare-and-swap";
    case IBV_WC_FETCH_ADD:
      return "fetch-and-add";
    case IBV_WC_RECV:
      return "receive";
    case IBV_WC_RECV_RDMA_WITH_IMM:
      return "receive of an RDMA write with immediate data";
    default:
      return "another operation";
  }
}

}  // namespace

const char* describe(ibv_wc_status status) noexcept { return explain(status).happened; }

std::string describe(const ibv_wc& completion) {
  const Explanation explanation = explain(completion.status);
  const std::string where =
      fmt::format("queue pair {:#x}, work request {}, reported as {}", completion.qp_num,
                  completion.wr_id, name(completion.opcode));
  if (completion.status == IBV_WC_SUCCESS) {
    return fmt::format("success ({}, {} bytes)", where, completion.byte_len);
  }
  return fmt::format("{}; {} ({}, status {}, vendor code {:#x})", explanation.happened,
                     explanation.look_at, where, static_cast<int>(completion.status),
                     completion.vendor_err);
}

}  // namespace dtutils
