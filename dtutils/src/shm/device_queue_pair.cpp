// SPDX-License-Identifier: MIT
// The shm device's queue pairs: creation, destruction, and what they can be asked.
#include <algorithm>

#include "shm/device.hpp"
#include "software/describe.hpp"

namespace dtutils::shm {
ibv_qp* ShmDevice::create_qp(ibv_pd* pd, ibv_qp_init_attr& attributes) {
  check_queue_pair("shm", attributes);
  auto qp = std::make_unique<QueuePair>(own_, agent_, attributes);
  const std::uint32_t index = qp->index.get();
  {
    const std::scoped_lock lock(mutex_);
    std::uint32_t& last = generation(queue_pair_generations_, index);
    last = last % ((1u << (24 - kIndexBits)) - 1) + 1;
    const std::uint32_t number = (last << kIndexBits) | index;
    qp->verbs = software::describe_queue_pair(pd, attributes, index, number);
  }
  QueuePairEntry& entry = *qp->entry;
  entry.receive_queue = index;
  if (qp->receives) {
    const std::uint32_t max_sge = std::max(attributes.cap.max_recv_sge, 1u);
    qp->own_receives.emplace(
        set_up(own_.shared().receive_queues[index], *qp->receives, max_sge, pd->handle, false));
    qp->receive_queue = &*qp->own_receives;
    attributes.cap.max_recv_wr = static_cast<std::uint32_t>(qp->receives->place().capacity());
  } else {
    entry.receive_queue = attributes.srq->handle;
    qp->receive_queue = &reinterpret_cast<SharedReceiveQueue*>(attributes.srq)->view;
  }
  qp->send_cq = &reinterpret_cast<CompletionQueue*>(attributes.send_cq)->view;
  qp->receive_cq = &reinterpret_cast<CompletionQueue*>(attributes.recv_cq)->view;
  qp->pd = pd->handle;
  // Where the pair before on this entry stopped, see QueuePair::posted.
  qp->posted = entry.sq_retired.load();
  entry.pd = pd->handle;
  entry.access = 0;
  entry.receive_cq = qp->receive_cq->index;
  entry.in_flight.store(0);
  entry.gate.store(0);
  entry.state.store(IBV_QPS_RESET);
  entry.qp_num.store(qp->verbs.qp_num, std::memory_order_release);
  {
    const std::scoped_lock lock(mutex_);
    ++reinterpret_cast<CompletionQueue*>(attributes.send_cq)->users;
    ++reinterpret_cast<CompletionQueue*>(attributes.recv_cq)->users;
    if (attributes.srq != nullptr) ++reinterpret_cast<SharedReceiveQueue*>(attributes.srq)->users;
  }
  agent_.add(*qp);
  return &qp.release()->verbs;
}

void ShmDevice::destroy_qp(ibv_qp* raw) noexcept {
  std::shared_ptr<QueuePair> owned(&from_verbs(raw));
  QueuePair* const qp = owned.get();
  if (!in_child()) {
    agent_.remove(*qp);
    std::shared_ptr<Peer> peer = qp->peer;
    reset(*qp);
    qp->entry->qp_num.store(0, std::memory_order_seq_cst);
    // Its agent lets go of our memory.
    if (peer != nullptr) peer->ring_agent();
    peer.reset();
    agent_.forget_peers();
    if (qp->outlives.runs()) agent_.keep(owned, qp->outlives);
  }
  const ibv_qp used = *raw;
  owned.reset();
  const std::scoped_lock lock(mutex_);
  let_go(used.send_cq);
  let_go(used.recv_cq);
  if (used.srq != nullptr) let_go(used.srq);
}

ibv_qp_state ShmDevice::qp_state(ibv_qp* raw) noexcept {
  return static_cast<ibv_qp_state>(from_verbs(raw).entry->state.load(std::memory_order_acquire));
}

bool ShmDevice::data_in_order(ibv_qp*, ibv_wr_opcode opcode) noexcept {
  return opcode == IBV_WR_RDMA_WRITE && !agent_.adversary();
}

}  // namespace dtutils::shm
