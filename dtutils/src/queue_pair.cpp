// SPDX-License-Identifier: MIT
// Queue pairs: creation, the way to ready-to-send, and what is not on the fast path.
#include "dtutils/queue_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"

namespace dtutils {
namespace {

/// Packets cross at most this many routers (RoCE v2).
constexpr std::uint8_t kHopLimit = 64;

std::string name(std::uint8_t kind) {
  return fmt::format("a {} device", to_string(static_cast<DeviceKind>(kind)));
}

ibv_qp* create(Device& device, ibv_pd* pd, ibv_qp_init_attr& wanted) {
  const ibv_qp_cap asked = wanted.cap;
  const bool shared_receives = wanted.srq != nullptr;
  ibv_qp* qp = device.create_qp(pd, wanted);
  const ibv_qp_cap& got = wanted.cap;
  if (got.max_send_wr < asked.max_send_wr || got.max_send_sge < asked.max_send_sge ||
      (!shared_receives &&
       (got.max_recv_wr < asked.max_recv_wr || got.max_recv_sge < asked.max_recv_sge))) {
    device.destroy_qp(qp);
    throw Error(
        "queue pair",
        fmt::format("device '{}' grants {} sends and {} receives of {} and {}", device.info().name,
                    got.max_send_wr, got.max_recv_wr, asked.max_send_wr, asked.max_recv_wr),
        "ask for smaller depths");
  }
  return qp;
}

std::uint32_t random_psn() {
  constexpr std::uint32_t k24Bits = 0xffffff;
  return std::random_device{}() & k24Bits;
}

void set_path(ibv_ah_attr& path, const DeviceInfo& own, const Endpoint& peer) {
  path.port_num = own.port;
  path.dlid = peer.lid;
  // InfiniBand inside one subnet is routed by LID alone; everything else by GID.
  path.is_global = own.link_layer != IBV_LINK_LAYER_INFINIBAND || peer.lid == 0;
  if (path.is_global) {
    std::memcpy(path.grh.dgid.raw, peer.gid, sizeof(peer.gid));
    path.grh.sgid_index = static_cast<std::uint8_t>(own.gid_index);
    path.grh.hop_limit = kHopLimit;
  }
}

}  // namespace

QueuePair::QueuePair(ProtectionDomain& pd, CompletionQueue& send_completions,
                     CompletionQueue& receive_completions, const QueuePairOptions& options)
    : device_(pd.device()),
      send_completions_(send_completions),
      options_(options),
      psn_(random_psn()) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = send_completions.raw();
  wanted.recv_cq = receive_completions.raw();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap.max_send_wr = options.send_depth;
  wanted.cap.max_send_sge = options.scatter_gather;
  wanted.cap.max_inline_data = std::min(options.max_inline, device_.info().max_inline);
  if (options.shared_receive_queue != nullptr) {
    wanted.srq = options.shared_receive_queue->raw();
  } else {
    wanted.cap.max_recv_wr = options.receive_depth;
    wanted.cap.max_recv_sge = 1;
  }
  qp_ = create(device_, pd.raw(), wanted);
  options_.send_depth = wanted.cap.max_send_wr;
  max_inline_ = wanted.cap.max_inline_data;
  device_.queue_pairs_.fetch_add(1, std::memory_order_relaxed);
}

QueuePair::~QueuePair() {
  device_.destroy_qp(qp_);
  device_.queue_pairs_.fetch_sub(1, std::memory_order_relaxed);
}

Endpoint QueuePair::endpoint() const {
  const DeviceInfo& own = device_.info();
  Endpoint endpoint{};
  std::memcpy(endpoint.gid, own.gid.raw, sizeof(endpoint.gid));
  endpoint.host = own.host;
  endpoint.qp_num = qp_->qp_num;
  endpoint.psn = psn_;
  endpoint.lid = own.lid;
  endpoint.mtu = static_cast<std::uint8_t>(own.mtu);
  endpoint.kind = static_cast<std::uint8_t>(own.kind);
  return endpoint;
}

void QueuePair::connect(const Endpoint& peer) {
  const DeviceInfo& own = device_.info();
  const std::string object = fmt::format("queue pair {:#x} on '{}'", qp_->qp_num, own.name);
  if (peer.kind != static_cast<std::uint8_t>(own.kind)) {
    throw Error(object,
                fmt::format("the peer is on {}, this side on {}", name(peer.kind),
                            name(static_cast<std::uint8_t>(own.kind))),
                "open the same kind of device on both sides (see CARIAMA_DEVICE)");
  }
  if (own.kind == DeviceKind::kShm && peer.host != own.host) {
    throw Error(object, "the peer is on another host or in another PID namespace",
                "the shm device reaches processes of one host only; open a verbs device");
  }
  if (state() != IBV_QPS_RESET) {
    throw Error(object, "it is already connected or broken", "make a new queue pair");
  }

  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.pkey_index = 0;
  init.port_num = own.port;
  init.qp_access_flags = static_cast<unsigned>(options_.access);
  device_.modify_qp(qp_, init,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  set_path(receive.ah_attr, own, peer);
  receive.path_mtu = std::min(own.mtu, static_cast<ibv_mtu>(peer.mtu));
  receive.dest_qp_num = peer.qp_num;
  receive.rq_psn = peer.psn;
  receive.max_dest_rd_atomic = kReadDepth;
  receive.min_rnr_timer = options_.min_rnr_timer;
  device_.modify_qp(qp_, receive,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);

  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = psn_;
  send.max_rd_atomic = kReadDepth;
  send.timeout = options_.ack_timeout;
  send.retry_cnt = options_.retry_count;
  send.rnr_retry = options_.rnr_retry;
  device_.modify_qp(qp_, send,
                    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT |
                        IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
}

void QueuePair::disconnect() {
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  device_.modify_qp(qp_, error, IBV_QP_STATE);
}

void QueuePair::reset() {
  ibv_qp_attr reset{};
  reset.qp_state = IBV_QPS_RESET;
  device_.modify_qp(qp_, reset, IBV_QP_STATE);
  psn_ = random_psn();
}

PostResult QueuePair::post(ibv_send_wr& requests, ibv_send_wr** bad) noexcept {
  ibv_send_wr* first_bad = nullptr;
  const int code = ibv_post_send(qp_, &requests, &first_bad);
  const ibv_send_wr* end = code == 0 ? nullptr : first_bad;
  std::uint64_t signaled = 0;
  for (const ibv_send_wr* posted = &requests; posted != end; posted = posted->next) {
    signaled += (posted->send_flags & IBV_SEND_SIGNALED) != 0;
  }
  signaled_posted_.fetch_add(signaled, std::memory_order_relaxed);
  if (bad != nullptr) {
    *bad = first_bad;
  }
  return code == 0 ? PostResult::kOk : refusal(code);
}

PostResult QueuePair::post_receive(LocalBuffer buffer, std::uint64_t id) noexcept {
  ibv_sge element{reinterpret_cast<std::uint64_t>(buffer.address), buffer.length, buffer.lkey};
  ibv_recv_wr request{};
  request.wr_id = id;
  request.sg_list = &element;
  request.num_sge = buffer.length != 0;
  ibv_recv_wr* bad = nullptr;
  const int code = ibv_post_recv(qp_, &request, &bad);
  return code == 0 ? PostResult::kOk : refusal(code);
}

QueuePair::Wait QueuePair::wait(ibv_wc& completion, std::chrono::milliseconds timeout) noexcept {
  Deadline deadline(timeout);
  Backoff backoff;
  for (;;) {
    const int polled = send_completions_.poll({&completion, 1});
    if (polled > 0) {
      ++waited_;
      return Wait::kCompleted;
    }
    if (polled < 0) {
      return Wait::kOverrun;
    }
    // Failed requests complete even when they were not signaled, so there may be more completions
    // than signaled posts: compare as a signed distance.
    const std::uint64_t posted = signaled_posted_.load(std::memory_order_relaxed);
    if (static_cast<std::int64_t>(posted - waited_) <= 0) {
      return Wait::kNothingSignaled;
    }
    if (deadline.passed()) {
      return Wait::kTimeout;
    }
    backoff.pause();
  }
}

PostResult QueuePair::refusal(int code) const noexcept {
  // Some providers answer with the negated errno.
  if (std::abs(code) == ENOMEM) {
    return PostResult::kFull;
  }
  return state() == IBV_QPS_RTS ? PostResult::kInvalid : PostResult::kBroken;
}

}  // namespace dtutils
