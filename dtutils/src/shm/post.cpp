// SPDX-License-Identifier: MIT
// Posting and polling. In the default mode a request is executed before its post returns.
#include "shm/post.hpp"

#include <cerrno>
#include <utility>

#include "shm/agent.hpp"
#include "shm/execute.hpp"
#include "shm/plain_write.hpp"
#include "shm/receive.hpp"
#include "shm/send_lock.hpp"
#include "shm/small_write.hpp"

namespace dtutils::shm {
namespace {

void defer(QueuePair& qp, const ibv_send_wr& request) noexcept {
  qp.window = {};
  qp.deferred.push(request, qp.posted++);
  qp.agent.has_work(qp);
}

/// Executes the request at once if it is the usual one; false: it is a case for post_one.
bool post_plain_write(QueuePair& qp, const PlainWrite& write, const ibv_send_wr& request) noexcept {
  if (!write.plain || !qp.has_room() || !execute_plain_write(qp, write)) return false;
  const std::uint64_t position = qp.posted++;
  if (qp.signal_all || (write.flags & IBV_SEND_SIGNALED) != 0) {
    complete(qp, request, position, IBV_WC_SUCCESS);
  }
  return true;
}

int post_one(QueuePair& qp, const ibv_send_wr& request) noexcept {
  const SendState state = qp.send_state.load(std::memory_order_relaxed);
  if (state == SendState::kNotReady) return EINVAL;
  if (!qp.has_room()) return ENOMEM;
  if (!is_valid(request, {qp.max_sge, qp.max_inline, qp.reads_allowed})) return EINVAL;
  if (qp.chaos != nullptr || !qp.deferred.empty()) {
    defer(qp, request);
    if (qp.chaos == nullptr) run_deferred(qp);
    return 0;
  }
  int outcome;
  if (state == SendState::kReady) {
    outcome = execute(qp, request);
    if (outcome < 0) {
      defer(qp, request);
      run_deferred(qp);
      return 0;
    }
  } else {
    outcome = std::exchange(qp.next_failure, IBV_WC_WR_FLUSH_ERR);
  }
  complete(qp, request, qp.posted++, static_cast<ibv_wc_status>(outcome));
  return 0;
}

/// Any request or chain of them.
[[gnu::noinline]] int post_requests(QueuePair& qp, ibv_send_wr* request,
                                    ibv_send_wr** bad) noexcept {
  if (qp.send_state.load(std::memory_order_relaxed) == SendState::kForked) {
    *bad = request;
    return EOWNERDEAD;
  }
  PlainWrite write(*request);
  const SendLock lock(qp.entry->send_lock);
  for (;;) {
    const int code = post_plain_write(qp, write, *request) ? 0 : post_one(qp, *request);
    if (code != 0) {
      *bad = request;
      return code;
    }
    request = request->next;
    if (request == nullptr) return 0;
    keep_behind_writes(qp, *request);
    write = PlainWrite(*request);
  }
}

/// Calls nothing on its short way, so that it has few registers to save.
int post_send(ibv_qp* raw, ibv_send_wr* request, ibv_send_wr** bad) noexcept {
  QueuePair& qp = from_verbs(raw);
  if (const SmallWrite write(qp, *request); write.usual) [[likely]] {
    std::atomic<std::uint32_t>& lock = qp.entry->send_lock;
    if (const std::uint32_t held = SendLock::try_take(lock); held != 0) [[likely]] {
      const bool done = execute_small_write(qp, write);
      SendLock::give_back(lock, held);
      if (done) [[likely]]
        return 0;
    }
  }
  return post_requests(qp, request, bad);
}

int post_receives(QueuePair& qp, ibv_recv_wr* request, ibv_recv_wr** bad) noexcept {
  ControlSegment& segment = qp.own.shared();
  const ReceiveQueueView& queue = *qp.receive_queue;
  for (; request != nullptr; request = request->next) {
    *bad = request;
    if (request->num_sge < 0 || static_cast<std::uint32_t>(request->num_sge) > queue.max_sge) {
      return EINVAL;
    }
    if (!push_receive(segment, queue, *request)) return ENOMEM;
  }
  return 0;
}

int post_recv(ibv_qp* raw, ibv_recv_wr* request, ibv_recv_wr** bad) noexcept {
  QueuePair& qp = from_verbs(raw);
  *bad = request;
  if (qp.send_state.load(std::memory_order_relaxed) == SendState::kForked) return EOWNERDEAD;
  if (raw->srq != nullptr || qp.entry->state.load(std::memory_order_relaxed) == IBV_QPS_RESET) {
    return EINVAL;
  }
  const int code = post_receives(qp, request, bad);
  // seq_cst, after the receives were published: pairs with break_pair, which sets the state and
  // then flushes, so that one of the two sees the other.
  if (qp.entry->state.load(std::memory_order_seq_cst) == IBV_QPS_ERR) flush_receives(qp);
  return code;
}

int post_srq_recv(ibv_srq* raw, ibv_recv_wr* request, ibv_recv_wr** bad) noexcept {
  auto& queue = *reinterpret_cast<SharedReceiveQueue*>(raw);
  *bad = request;
  if (queue.forked.load(std::memory_order_relaxed)) return EOWNERDEAD;
  const SendLock lock(queue.post_lock);
  for (; request != nullptr; request = request->next) {
    *bad = request;
    if (request->num_sge < 0 || static_cast<std::uint32_t>(request->num_sge) > queue.view.max_sge) {
      return EINVAL;
    }
    if (!queue.outstanding.has_room(*queue.segment)) return ENOMEM;
    const auto position = push_receive(*queue.segment, queue.view, *request);
    if (!position) return ENOMEM;
    queue.outstanding.add(*queue.segment, *position);
  }
  return 0;
}

int poll_cq(ibv_cq* raw, int count, ibv_wc* into) noexcept {
  auto& queue = *reinterpret_cast<CompletionQueue*>(raw);
  if (queue.forked.load(std::memory_order_relaxed)) return -1;
  return poll_completions(*queue.segment, queue.view, count, into, queue.claim_patience);
}

int req_notify_cq(ibv_cq* raw, int solicited_only) noexcept {
  auto& queue = *reinterpret_cast<CompletionQueue*>(raw);
  if (queue.forked.load(std::memory_order_relaxed)) return EOWNERDEAD;
  std::atomic<std::uint32_t>& armed = queue.view.armed;
  if (queue.view.channel.fd < 0) return EINVAL;
  // Relaxed: for a look that may come late, see ShmDevice::overlooked.
  queue.event_expected.store(true, std::memory_order_relaxed);
  // seq_cst: before the caller's next poll; pairs with push_completion.
  if (solicited_only == 0) {
    armed.store(1, std::memory_order_seq_cst);
  } else {
    // Whoever waits for the next completion goes on doing so.
    std::uint32_t nothing = 0;
    armed.compare_exchange_strong(nothing, 2, std::memory_order_seq_cst);
  }
  return 0;
}

}  // namespace

void set_operations(ibv_context& context) noexcept {
  context.ops.post_send = post_send;
  context.ops.post_recv = post_recv;
  context.ops.post_srq_recv = post_srq_recv;
  context.ops.poll_cq = poll_cq;
  context.ops.req_notify_cq = req_notify_cq;
}

}  // namespace dtutils::shm
