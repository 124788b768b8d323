// SPDX-License-Identifier: MIT
// The shm device's queue pairs: creation, the state machine of ibv_modify_qp, destruction.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "dtutils/error.hpp"
#include "shm/chaos.hpp"
#include "shm/device.hpp"
#include "shm/rnr_timer.hpp"
#include "shm/send_lock.hpp"

namespace dtutils::shm {
namespace {

const char* name_of(std::uint32_t state) {
  constexpr std::array kNames{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return state < kNames.size() ? kNames[state] : "UNKNOWN";
}

std::string name_of(const QueuePair& qp) {
  return fmt::format("shm queue pair {:#x}", qp.verbs.qp_num);
}

void check_limits(const ibv_qp_init_attr& attributes) {
  const ibv_qp_cap& cap = attributes.cap;
  const bool receives = attributes.srq == nullptr;
  if (attributes.qp_type != IBV_QPT_RC) {
    throw Error("shm queue pair", "a type other than IBV_QPT_RC was asked for",
                "use a reliable connection", EOPNOTSUPP);
  }
  if (cap.max_send_wr < 1 || cap.max_send_wr > kMaxDepth ||
      (receives && cap.max_recv_wr > kMaxDepth) || cap.max_send_sge > kMaxScatterGather ||
      cap.max_recv_sge > kMaxScatterGather || cap.max_inline_data > kMaxInline) {
    throw Error(
        "shm queue pair", "more was asked for than the device has",
        fmt::format("ask for 1 to {} work requests, at most {} elements and {} inline bytes",
                    kMaxDepth, kMaxScatterGather, kMaxInline),
        EINVAL);
  }
}

}  // namespace

ibv_qp* ShmDevice::create_qp(ibv_pd* pd, ibv_qp_init_attr& attributes) {
  check_limits(attributes);
  auto qp = std::make_unique<QueuePair>(own_, agent_, attributes);
  const std::uint32_t index = qp->index.get();
  {
    const std::scoped_lock lock(mutex_);
    std::uint32_t& generation = queue_pair_generations_[index];
    generation = generation % ((1u << (24 - kIndexBits)) - 1) + 1;
    qp->verbs.qp_num = (generation << kIndexBits) | index;
  }
  QueuePairEntry& entry = *qp->entry;
  entry.receive_queue = index;
  if (qp->receives) {
    const std::uint32_t max_sge = std::max(attributes.cap.max_recv_sge, 1u);
    set_up(own_.shared().receive_queues[index], *qp->receives, max_sge, pd->handle);
    attributes.cap.max_recv_wr = static_cast<std::uint32_t>(qp->receives->place().capacity());
  } else {
    entry.receive_queue = attributes.srq->handle;
  }
  qp->send_cq = reinterpret_cast<CompletionQueue*>(attributes.send_cq)->entry;
  qp->pd = pd->handle;
  // Where the pair before on this entry stopped, see QueuePair::posted.
  qp->posted = entry.sq_retired.load();
  entry.pd = pd->handle;
  entry.access = 0;
  entry.receive_cq = reinterpret_cast<CompletionQueue*>(attributes.recv_cq)->index.get();
  entry.in_flight.store(0);
  entry.gate.store(0);
  entry.state.store(IBV_QPS_RESET);
  entry.qp_num.store(qp->verbs.qp_num, std::memory_order_release);
  qp->verbs.context = &context_;
  qp->verbs.pd = pd;
  qp->verbs.send_cq = attributes.send_cq;
  qp->verbs.recv_cq = attributes.recv_cq;
  qp->verbs.srq = attributes.srq;
  qp->verbs.handle = index;
  qp->verbs.state = IBV_QPS_RESET;
  qp->verbs.qp_type = IBV_QPT_RC;
  agent_.add(*qp);
  return &qp.release()->verbs;
}

void ShmDevice::destroy_qp(ibv_qp* raw) noexcept {
  QueuePair* qp = &from_verbs(raw);
  if (!in_child()) {
    agent_.remove(*qp);
    reset(*qp);
    qp->entry->qp_num.store(0, std::memory_order_seq_cst);
  }
  delete qp;
}

void ShmDevice::reset(QueuePair& qp) {
  // seq_cst: pairs with the load at the head of execute(); see send_lock.hpp.
  qp.entry->gate.store(0, std::memory_order_seq_cst);
  wait_for_peer(qp);
  agent_.exclusively([&] {
    const SendLock lock(qp.entry->send_lock);
    if (qp.peer != nullptr && qp.peer->dead()) recover_from_death(qp);
    qp.recovered = false;
    qp.send_state.store(SendState::kNotReady);
    qp.entry->state.store(IBV_QPS_RESET);
    qp.deferred.clear();
    if (qp.chaos != nullptr) qp.chaos->held.clear();
    qp.waits_for = 0;
    qp.vendor_error = kNoVendorError;
    qp.next_failure = IBV_WC_WR_FLUSH_ERR;
    if (qp.verbs.srq == nullptr) discard_receives(qp);
    forget_completions(qp);
    qp.entry->sq_retired.store(qp.posted);
    qp.entry->in_flight.store(0);
    qp.region = nullptr;
    qp.window = {};
    qp.remote = nullptr;
    qp.peer.reset();
  });
  agent_.forget_peers();
}

void ShmDevice::forget_completions(QueuePair& qp) noexcept {
  ControlSegment& segment = own_.shared();
  CompletionQueueEntry& receive_cq = segment.completion_queues[qp.entry->receive_cq];
  for (const bool remote : {false, true}) {
    const SlotOwner owner{qp.verbs.qp_num, remote};
    void_completions(segment, *qp.send_cq, owner);
    if (&receive_cq != qp.send_cq) void_completions(segment, receive_cq, owner);
  }
}

void ShmDevice::connect(QueuePair& qp, const ibv_qp_attr& attributes) {
  const Address address = to_address(attributes.ah_attr.grh.dgid);
  std::shared_ptr<Peer> peer = agent_.peer(address);
  ControlSegment& remote = peer->shared();
  const std::uint32_t number = attributes.dest_qp_num;
  QueuePairEntry& remote_entry = remote.queue_pairs[queue_pair_index(number)];
  if (remote_entry.qp_num.load(std::memory_order_acquire) != number) {
    throw Error(name_of(qp), fmt::format("process {} has no queue pair {:#x}", address.pid, number),
                "it was destroyed, or the endpoint is stale; exchange endpoints anew", ENOENT);
  }
  peer->prepare_to_ring(remote.header.doorbell);
  peer->prepare_to_ring(remote.completion_queues[remote_entry.receive_cq].channel);
  agent_.exclusively([&] {
    const SendLock lock(qp.entry->send_lock);
    qp.peer = std::move(peer);
    qp.remote_segment = &remote;
    qp.remote = &remote_entry;
    qp.remote_number = number;
    qp.remote_gate = gate_value(own_.address().nonce, qp.verbs.qp_num, number);
    qp.entry->rnr_timer_us = rnr_timer_microseconds(attributes.min_rnr_timer);
    qp.entry->state.store(IBV_QPS_RTR);
    // Release: the peer may act on this pair from now on.
    qp.entry->gate.store(gate_value(address.nonce, number, qp.verbs.qp_num),
                         std::memory_order_release);
  });
}

void ShmDevice::get_ready_to_send(QueuePair& qp, const ibv_qp_attr& attributes) {
  const SendLock lock(qp.entry->send_lock);
  qp.rnr_retry = attributes.rnr_retry;
  qp.connect_timeout = retry_time(attributes.timeout, attributes.retry_cnt);
  // The peer may have broken the pair since it was connected.
  std::uint32_t from = IBV_QPS_RTR;
  if (!qp.entry->state.compare_exchange_strong(from, IBV_QPS_RTS)) {
    throw Error(name_of(qp), "the peer broke the connection before this side was ready",
                "look at the completions of the peer", ECONNRESET);
  }
  qp.send_state.store(SendState::kReady);
}

void ShmDevice::disconnect(QueuePair& qp) {
  // As in reset(). Receives that the peer holds are completed before the others are flushed, and no
  // byte arrives any more when this returns.
  qp.entry->gate.store(0, std::memory_order_seq_cst);
  wait_for_peer(qp);
  const SendLock lock(qp.entry->send_lock);
  if (qp.send_state.load() != SendState::kBroken) break_pair(qp, IBV_WC_WR_FLUSH_ERR);
}

void ShmDevice::modify_qp(ibv_qp* raw, ibv_qp_attr& attributes, int mask) {
  QueuePair& qp = from_verbs(raw);
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) qp.entry->access = attributes.qp_access_flags;
  if ((mask & IBV_QP_STATE) == 0) return;
  const std::uint32_t from = qp.entry->state.load();
  const ibv_qp_state to = attributes.qp_state;
  if (to == IBV_QPS_RESET) {
    reset(qp);
  } else if (to == IBV_QPS_ERR) {
    disconnect(qp);
  } else if (from == IBV_QPS_RESET && to == IBV_QPS_INIT) {
    qp.entry->state.store(IBV_QPS_INIT);
  } else if (from == IBV_QPS_INIT && to == IBV_QPS_RTR) {
    connect(qp, attributes);
  } else if (from == IBV_QPS_RTR && to == IBV_QPS_RTS) {
    get_ready_to_send(qp, attributes);
  } else if (from != static_cast<std::uint32_t>(to)) {
    throw Error(name_of(qp), fmt::format("no step leads from {} to {}", name_of(from), name_of(to)),
                "go RESET, INIT, RTR, RTS; from ERR only to RESET", EINVAL);
  }
  raw->state = to;
}

ibv_qp_state ShmDevice::qp_state(ibv_qp* raw) noexcept {
  return static_cast<ibv_qp_state>(from_verbs(raw).entry->state.load(std::memory_order_acquire));
}

bool ShmDevice::data_in_order(ibv_qp*, ibv_wr_opcode opcode) noexcept {
  return opcode == IBV_WR_RDMA_WRITE && !agent_.adversary();
}

}  // namespace dtutils::shm
