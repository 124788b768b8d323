// SPDX-License-Identifier: MIT
// The steps of the shm device's queue pairs from state to state: what ibv_modify_qp does.
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "dtutils/error.hpp"
#include "shm/chaos.hpp"
#include "shm/device.hpp"
#include "shm/send_lock.hpp"
#include "software/rnr_timer.hpp"
#include "software/steps.hpp"

namespace dtutils::shm {
namespace {

std::string name_of(const QueuePair& qp) {
  return fmt::format("shm queue pair {:#x}", qp.verbs.qp_num);
}

}  // namespace

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
    qp.given = {};
    qp.entry->access.store(0);
    qp.deferred.clear();
    if (qp.chaos != nullptr) {
      qp.chaos->held.clear();
      qp.chaos->late.clear();
    }
    qp.waits_for = 0;
    qp.vendor_error = kNoVendorError;
    qp.receive_error.store(kNoVendorError);
    qp.next_failure = IBV_WC_WR_FLUSH_ERR;
    if (qp.verbs.srq == nullptr) discard_receives(qp);
    forget_completions(qp);
    qp.entry->sq_retired.store(qp.posted);
    qp.entry->in_flight.store(0);
    qp.region = nullptr;
    qp.window = {};
    qp.remote = nullptr;
    qp.remote_bell = {};
    qp.peer.reset();
  });
  agent_.forget_peers();
}

void ShmDevice::forget_completions(QueuePair& qp) noexcept {
  ControlSegment& segment = own_.shared();
  void_completions(segment, *qp.send_cq, qp.verbs.qp_num);
  if (qp.receive_cq != qp.send_cq) void_completions(segment, *qp.receive_cq, qp.verbs.qp_num);
}

void ShmDevice::connect(QueuePair& qp, const ibv_qp_attr& attributes, int mask) {
  if (qp.outlives.runs()) {
    throw Error(name_of(qp),
                fmt::format("process {}, to which it was connected, is stopped while it uses it",
                            qp.outlives.peer->address().pid),
                "let that process go on, or destroy this queue pair and make another", EBUSY);
  }
  qp.outlives = {};
  const Address address = to_address(attributes.ah_attr.grh.dgid);
  std::shared_ptr<Peer> peer = agent_.peer(address);
  ControlSegment& remote = peer->shared();
  const std::uint32_t number = attributes.dest_qp_num;
  QueuePairEntry& remote_entry = remote.queue_pairs[queue_pair_index(number)];
  if (remote_entry.qp_num.load(std::memory_order_acquire) != number) {
    throw Error(name_of(qp), fmt::format("process {} has no queue pair {:#x}", address.pid, number),
                "it was destroyed, or the endpoint is stale; exchange endpoints anew", ENOENT);
  }
  const ReceiveQueueView receives =
      view_receive_queue(peer->map(), read_once(remote_entry.receive_queue));
  const CompletionQueueView completions =
      view_completion_queue(peer->map(), read_once(remote_entry.receive_cq));
  Bell bell = peer->bell(completions.channel);
  agent_.exclusively([&] {
    const SendLock lock(qp.entry->send_lock);
    qp.peer = std::move(peer);
    qp.remote_segment = &remote;
    qp.remote = &remote_entry;
    qp.remote_receives.emplace(receives);
    qp.remote_completions.emplace(completions);
    qp.remote_bell = std::move(bell);
    qp.remote_number = number;
    take_over(qp, attributes, mask);
    qp.entry->state.store(IBV_QPS_RTR);
    // Release: the peer may act on this pair from now on.
    qp.entry->gate.store(gate_value(address.nonce, number, qp.verbs.qp_num, qp.given.rq_psn),
                         std::memory_order_release);
  });
}

void ShmDevice::get_ready_to_send(QueuePair& qp, const ibv_qp_attr& attributes, int mask) {
  const SendLock lock(qp.entry->send_lock);
  // The peer may have broken the pair since it was connected.
  std::uint32_t from = IBV_QPS_RTR;
  if (!qp.entry->state.compare_exchange_strong(from, IBV_QPS_RTS)) {
    throw Error(name_of(qp), "the peer broke the connection before this side was ready",
                "check the completions of the peer", ECONNRESET);
  }
  take_over(qp, attributes, mask);
  qp.incarnation = next_incarnation(qp.incarnation);
  qp.remote_gate = claimed_gate(
      gate_value(own_.address().nonce, qp.verbs.qp_num, qp.remote_number, qp.given.sq_psn),
      qp.incarnation);
  qp.gate_claimed = false;
  qp.send_state.store(SendState::kReady);
}

void ShmDevice::disconnect(QueuePair& qp) {
  // As in reset(). Receives that the peer holds are completed before the others are flushed, and no
  // byte arrives any more when this returns, unless the peer is stopped.
  qp.entry->gate.store(0, std::memory_order_seq_cst);
  wait_for_peer(qp);
  {
    const SendLock lock(qp.entry->send_lock);
    if (qp.send_state.load() != SendState::kBroken) break_pair(qp, IBV_WC_WR_FLUSH_ERR);
  }
  // It may have died, and been forgotten by all but wait_for_peer.
  agent_.forget_peers();
}

void ShmDevice::take_over(QueuePair& qp, const ibv_qp_attr& attributes, int mask) {
  merge(qp.given, attributes, mask);
  const ibv_qp_attr& now = qp.given;
  qp.rnr_retry = now.rnr_retry;
  qp.connect_timeout = retry_time(now.timeout, now.retry_cnt);
  qp.reads_allowed = now.max_rd_atomic != 0;
  qp.entry->rnr_timer_us.store(rnr_timer_microseconds(now.min_rnr_timer));
  constexpr unsigned kAnswers = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  qp.entry->access.store(now.qp_access_flags & (now.max_dest_rd_atomic != 0 ? ~0u : ~kAnswers));
}

void ShmDevice::modify_qp(ibv_qp* raw, ibv_qp_attr& attributes, int mask) {
  QueuePair& qp = from_verbs(raw);
  const ibv_qp_state from = qp_state(raw);
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attributes.qp_state : from;
  check_step(name_of(qp), from, to, attributes, mask);
  if (to == IBV_QPS_RESET) {
    reset(qp);
  } else if (to == IBV_QPS_ERR) {
    disconnect(qp);
  } else if (to == IBV_QPS_RTR) {
    connect(qp, attributes, mask);
  } else if (from == IBV_QPS_RTR) {
    get_ready_to_send(qp, attributes, mask);
  } else {
    const SendLock lock(qp.entry->send_lock);
    take_over(qp, attributes, mask);
    if (from != to) qp.entry->state.store(to);
  }
  // Several threads may break a connection at once.
  std::atomic_ref(raw->state).store(to, std::memory_order_relaxed);
}

}  // namespace dtutils::shm
