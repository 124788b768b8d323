// SPDX-License-Identifier: MIT
// Completing, deferring, waiting and breaking: the life of a work request after its post.
#include "shm/queue_pair.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dtutils/limits.hpp"
#include "shm/agent.hpp"
#include "shm/chaos.hpp"
#include "shm/execute.hpp"
#include "shm/late_answers.hpp"
#include "shm/post.hpp"
#include "shm/receive.hpp"

namespace dtutils::shm {
namespace {

/// Longer writes gain more by the wider copy of the longer way (place_bytes).
constexpr std::uint32_t kSmallWrite = 1024;

using Clock = std::chrono::steady_clock;

Clock::time_point end_of_patience(const QueuePair& qp, int outcome) noexcept {
  const auto now = Clock::now();
  if (outcome == kNotConnected) return now + qp.connect_timeout;
  if (qp.rnr_retry == kRnrRetryForEver) return Clock::time_point::max();
  return now + std::chrono::microseconds(qp.remote->rnr_timer_us) * qp.rnr_retry;
}

/// True when the front of the deferred work must go on waiting after `execute` answered `outcome`;
/// false when its time is over.
bool may_wait(QueuePair& qp, int outcome) noexcept {
  if (qp.waits_for != outcome) {
    qp.waits_for = outcome;
    qp.give_up_at = end_of_patience(qp, outcome);
  }
  // A peer that was connected and is not any more will not come back: no need to wait.
  const bool gone = qp.peer->dead() || qp.gate_claimed ||
                    qp.remote->state.load(std::memory_order_acquire) == IBV_QPS_ERR ||
                    qp.remote->qp_num.load(std::memory_order_relaxed) != qp.remote_number;
  return !(outcome == kNotConnected && gone) && Clock::now() < qp.give_up_at;
}

bool is_signaled(const QueuePair& qp, const ibv_send_wr& request) noexcept {
  return qp.signal_all || (request.send_flags & IBV_SEND_SIGNALED) != 0;
}

Completion completion_of(const QueuePair& qp, const ibv_send_wr& request, std::uint64_t position,
                         ibv_wc_status status) noexcept {
  Completion completion;
  completion.wr_id = request.wr_id;
  completion.status = status;
  completion.opcode = completion_opcode(request.opcode);
  if (brings_data(request.opcode)) {
    completion.length = static_cast<std::uint32_t>(total_length(request));
  }
  completion.qp_num = qp.verbs.qp_num;
  completion.vendor_error = qp.vendor_error;
  completion.sq_position = position + 1;
  return completion;
}

/// Completes one receive as flushed, in the slot that a dead sender claimed for it, if one did.
void flush_receive(QueuePair& qp, std::uint64_t wr_id, CompletionSlot* claimed) noexcept {
  const CompletionQueueView& cq = *qp.receive_cq;
  Completion completion;
  completion.wr_id = wr_id;
  completion.status = IBV_WC_WR_FLUSH_ERR;
  completion.opcode = IBV_WC_RECV;
  completion.qp_num = qp.verbs.qp_num;
  completion.vendor_error = qp.receive_error.load(std::memory_order_relaxed);
  const SlotOwner owner{qp.verbs.qp_num, false};
  const Push pushed = claimed != nullptr
                          ? publish_for_the_dead(qp.own.shared(), cq, *claimed, owner, completion)
                          : push_completion(qp.own.shared(), cq, owner, completion, nullptr);
  if (pushed != Push::kDone) qp.agent.notify_self(cq.channel, cq.index);
}

}  // namespace

QueuePair::QueuePair(OwnSegment& own_segment, Agent& device_agent,
                     const ibv_qp_init_attr& attributes)
    : own(own_segment),
      agent(device_agent),
      index(own.take_queue_pair()),
      entry(&own.shared().queue_pairs[index.get()]),
      send_depth(attributes.cap.max_send_wr),
      max_sge(std::max(attributes.cap.max_send_sge, 1u)),
      max_inline(attributes.cap.max_inline_data),
      signal_all(attributes.sq_sig_all != 0),
      small_limit(signal_all ? 0 : std::min(max_inline, kSmallWrite)),
      deferred(send_depth, max_sge, max_inline) {
  if (attributes.srq == nullptr) {
    const std::uint32_t max_receive_sge = std::max(attributes.cap.max_recv_sge, 1u);
    receives.emplace(own, std::max(attributes.cap.max_recv_wr, 1u),
                     receive_slot_size(max_receive_sge));
  }
  if (agent.adversary()) chaos = std::make_unique<Chaos>(*agent.adversary(), index.get());
}

QueuePair::~QueuePair() = default;

DeferredQueue::DeferredQueue(std::uint32_t depth, std::uint32_t max_sge, std::uint32_t max_inline)
    : depth_(depth),
      max_sge_(max_sge),
      max_inline_(max_inline),
      slots_(std::make_unique_for_overwrite<Slot[]>(depth)),
      elements_(std::make_unique_for_overwrite<ibv_sge[]>(std::size_t{depth} * max_sge)),
      inline_bytes_(std::make_unique_for_overwrite<std::byte[]>(std::size_t{depth} * max_inline)) {}

void DeferredQueue::push(const ibv_send_wr& request, std::uint64_t position) noexcept {
  const std::size_t index = last_++ % depth_;
  ibv_sge* elements = elements_.get() + index * max_sge_;
  Slot& into = slots_[index];
  into.request = request;
  into.request.next = nullptr;
  into.request.sg_list = elements;
  into.position = position;
  std::copy_n(request.sg_list, request.num_sge, elements);
  if ((request.send_flags & IBV_SEND_INLINE) == 0) return;
  std::byte* bytes = inline_bytes_.get() + index * max_inline_;
  for (int i = 0; i < request.num_sge; ++i) {
    std::memcpy(bytes, reinterpret_cast<const void*>(elements[i].addr), elements[i].length);
    elements[i].addr = reinterpret_cast<std::uint64_t>(bytes);
    bytes += elements[i].length;
  }
}

void deliver(QueuePair& qp, const Completion& completion) noexcept {
  const CompletionQueueView& cq = *qp.send_cq;
  const Push pushed =
      push_completion(qp.own.shared(), cq, {qp.verbs.qp_num, false}, completion, nullptr);
  if (pushed != Push::kDone) qp.agent.notify_self(cq.channel, cq.index);
  if (pushed == Push::kOverrun && qp.send_state.load() == SendState::kReady) {
    break_pair(qp, IBV_WC_WR_FLUSH_ERR);
  }
}

void complete(QueuePair& qp, const ibv_send_wr& request, std::uint64_t position,
              ibv_wc_status status) noexcept {
  const bool wanted = is_signaled(qp, request) || status != IBV_WC_SUCCESS;
  if (!wanted && qp.chaos == nullptr) return;
  const Completion completion = completion_of(qp, request, position, status);
  if (qp.chaos != nullptr) {
    qp.chaos->held.push_back({completion, wanted, true});
  } else {
    deliver(qp, completion);
  }
  if (status == IBV_WC_SUCCESS || qp.send_state.load() != SendState::kReady) return;
  fail_pair(qp, status);
}

void fail_pair(QueuePair& qp, ibv_wc_status status) noexcept {
  if (qp.chaos != nullptr) settle_answers(qp);
  if (breaks_responder(status)) {
    qp.remote->gate.store(0, std::memory_order_seq_cst);
    qp.remote->state.store(IBV_QPS_ERR, std::memory_order_release);
    qp.peer->ring_agent();
  }
  break_pair(qp, IBV_WC_WR_FLUSH_ERR);
}

void break_pair(QueuePair& qp, ibv_wc_status first) noexcept {
  qp.next_failure = first;
  qp.window = {};
  qp.send_state.store(SendState::kBroken);
  // Before the state, which post_recv looks at.
  if (qp.peer != nullptr && qp.peer->dead()) qp.receive_error.store(kPeerDied);
  qp.entry->gate.store(0, std::memory_order_seq_cst);
  qp.entry->state.store(IBV_QPS_ERR, std::memory_order_seq_cst);
  if (qp.chaos != nullptr) settle_answers(qp);
  run_deferred(qp);
  if (qp.verbs.srq == nullptr) flush_receives(qp);
}

void run_deferred(QueuePair& qp) noexcept {
  while (!qp.deferred.empty()) {
    const ibv_send_wr& request = qp.deferred.front();
    const std::uint64_t position = qp.deferred.front_position();
    int outcome;
    if (qp.send_state.load() != SendState::kReady) {
      outcome = std::exchange(qp.next_failure, IBV_WC_WR_FLUSH_ERR);
    } else {
      if (qp.chaos != nullptr && waits_for_answers(qp, request)) {
        land_all(qp);
        continue;
      }
      keep_behind_writes(qp, request);
      outcome = qp.chaos != nullptr ? execute_late(qp, request, position) : execute(qp, request);
      if (outcome == kAnswerIsLate) {
        qp.chaos->held.push_back({completion_of(qp, request, position, IBV_WC_SUCCESS),
                                  is_signaled(qp, request), false});
        qp.waits_for = 0;
        qp.deferred.pop();
        return;
      }
      if (outcome < 0 && may_wait(qp, outcome)) return;
      if (outcome == kReceiverNotReady) outcome = IBV_WC_RNR_RETRY_EXC_ERR;
      if (outcome == kNotConnected) {
        outcome = IBV_WC_RETRY_EXC_ERR;
        qp.vendor_error = qp.peer->dead() ? kPeerDied : kPeerClosed;
      }
    }
    qp.waits_for = 0;
    // Leaves the queue before it completes, since a failure runs the rest of the queue.
    ibv_send_wr finished = request;
    qp.deferred.pop();
    complete(qp, finished, position, static_cast<ibv_wc_status>(outcome));
    if (qp.chaos != nullptr && qp.send_state.load() == SendState::kReady) return;
  }
}

void recover_from_death(QueuePair& qp) noexcept {
  if (std::exchange(qp.recovered, true)) return;
  qp.receive_error.store(kPeerDied);
  ControlSegment& segment = qp.own.shared();
  const CompletionQueueView& completions = *qp.receive_cq;
  LostReceive lost;
  if (recover_receive(segment, *qp.receive_queue, completions, *qp.entry, lost)) {
    flush_receive(qp, lost.wr_id, lost.claimed);
  }
  // It may have disarmed the queue and died before it woke the sleeper.
  qp.agent.notify_self(completions.channel, completions.index);
}

void forget_peer(QueuePair& qp) noexcept {
  qp.region = nullptr;
  qp.window = {};
  qp.remote_receives.reset();
  qp.remote_completions.reset();
  qp.remote_bell = {};
  qp.remote_segment = nullptr;
  qp.remote = nullptr;
  qp.outlives = {};
  qp.peer.reset();
}

void flush_receives(QueuePair& qp) noexcept {
  ControlSegment& segment = qp.own.shared();
  Receive receive;
  while (withdraw_receive(segment, *qp.receive_queue, qp.verbs.qp_num, receive)) {
    flush_receive(qp, receive.wr_id, nullptr);
  }
}

void discard_receives(QueuePair& qp) noexcept {
  ControlSegment& segment = qp.own.shared();
  Receive receive;
  while (withdraw_receive(segment, *qp.receive_queue, qp.verbs.qp_num, receive)) {
  }
}

}  // namespace dtutils::shm
