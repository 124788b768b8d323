// SPDX-License-Identifier: MIT
// Keeps the answers of READs and atomics back, and their completions in order.
#include "shm/late_answers.hpp"

#include <utility>

#include "shm/chaos.hpp"
#include "shm/execute.hpp"

namespace dtutils::shm {
namespace {

/// Fills in the place that the completion of the answer has; whatever was posted after a failure
/// fails, too, even if it had its effect.
void report(QueuePair& qp, const LateAnswer& answer, ibv_wc_status status) noexcept {
  bool behind = false;
  for (HeldCompletion& each : qp.chaos->held) {
    if (each.completion.sq_position == answer.position + 1) {
      each.landed = true;
      each.wanted |= status != IBV_WC_SUCCESS;
      each.completion.status = status;
      each.completion.vendor_error = qp.vendor_error;
      behind = true;
    } else if (behind && status != IBV_WC_SUCCESS) {
      each.wanted = true;
      each.completion.status = IBV_WC_WR_FLUSH_ERR;
    }
  }
}

}  // namespace

int execute_late(QueuePair& qp, const ibv_send_wr& request, std::uint64_t position) noexcept {
  Chaos& chaos = *qp.chaos;
  // A READ does not pass an earlier one, nor its answer an earlier answer.
  if (!brings_data(request.opcode) || (chaos.late.empty() && !chaos.once_in(2))) {
    return execute(qp, request);
  }
  LateAnswer answer{request, {request.sg_list, request.sg_list + request.num_sge}, position, 0};
  const int outcome = begin_answer(qp, request, answer.old_value);
  if (outcome != IBV_WC_SUCCESS) return outcome;
  chaos.late.push_back(std::move(answer));
  return kAnswerIsLate;
}

bool waits_for_answers(const QueuePair& qp, const ibv_send_wr& request) noexcept {
  return (request.send_flags & IBV_SEND_FENCE) != 0 && !qp.chaos->late.empty();
}

void land_one(QueuePair& qp) noexcept {
  Chaos& chaos = *qp.chaos;
  if (chaos.late.empty()) return;
  LateAnswer answer = std::move(chaos.late.front());
  chaos.late.pop_front();
  answer.request.sg_list = answer.elements.data();
  keep_behind_writes(qp, answer.request);
  const auto status =
      static_cast<ibv_wc_status>(finish_answer(qp, answer.request, answer.old_value));
  report(qp, answer, status);
  if (status == IBV_WC_SUCCESS) return;
  // Nothing that was posted after it lands any more.
  for (const LateAnswer& lost : chaos.late) report(qp, lost, IBV_WC_WR_FLUSH_ERR);
  chaos.late.clear();
  fail_pair(qp, status);
}

void land_all(QueuePair& qp) noexcept {
  while (!qp.chaos->late.empty()) land_one(qp);
}

void settle_answers(QueuePair& qp) noexcept {
  bool lost = false;
  for (LateAnswer& answer : std::exchange(qp.chaos->late, {})) {
    answer.request.sg_list = answer.elements.data();
    const int outcome = lost ? static_cast<int>(IBV_WC_WR_FLUSH_ERR)
                             : finish_answer(qp, answer.request, answer.old_value);
    report(qp, answer, static_cast<ibv_wc_status>(outcome));
    if (outcome == IBV_WC_SUCCESS) continue;
    lost = true;
    qp.next_failure = IBV_WC_WR_FLUSH_ERR;
  }
}

}  // namespace dtutils::shm
