// SPDX-License-Identifier: MIT
// A simulated queue pair: answers, completions, and the steps from state to state.
#include <fmt/format.h>

#include <utility>

#include "sim/device.hpp"
#include "sim/queue_pair.hpp"
#include "software/copy.hpp"
#include "software/requests.hpp"
#include "software/steps.hpp"

namespace dtutils::sim {

using namespace software;

void QueuePair::answer() noexcept {
  Request& request = at(answered_++);
  if (brings_data(request.work.opcode)) {
    --answers_due_;
    // The program may have taken its memory back.
    if (request.status == IBV_WC_SUCCESS && !may_use(request, true)) {
      request.status = IBV_WC_LOC_PROT_ERR;
    }
    const std::byte* from = request.bytes.data();
    for (const ibv_sge& element : request.elements) {
      if (request.status != IBV_WC_SUCCESS) break;
      place_bytes(reinterpret_cast<void*>(element.addr), from, element.length);
      from += element.length;
    }
    for (unsigned waiting = std::exchange(stalled_, 0); waiting != 0; --waiting) {
      schedule(world_.time(), Happening::kIssue);
    }
  }
  if (world_.trace() != nullptr) show_answer(request);
  request.done = true;
  world_.stir(device_.node());
  complete_done();
}

void QueuePair::complete_done() noexcept {
  while (completed_ < posted_ && at(completed_).done) {
    Request& request = at(completed_);
    const ibv_wc_status status = request.status;
    if (status != IBV_WC_SUCCESS) vendor_error_ = request.vendor_error;
    requests_.pop();
    ++completed_;
    // Its place is not used again before the next post.
    complete(request, status);
    if (state_ != IBV_QPS_RTS) return;
    if (status != IBV_WC_SUCCESS) return break_off(IBV_WC_WR_FLUSH_ERR);
  }
}

void QueuePair::complete(const Request& request, ibv_wc_status status) noexcept {
  const bool signaled = signal_all_ || (request.work.send_flags & IBV_SEND_SIGNALED) != 0;
  if (!signaled && status == IBV_WC_SUCCESS) return;
  ibv_wc work{};
  work.wr_id = request.work.wr_id;
  work.status = status;
  work.opcode = completion_opcode(request.work.opcode);
  if (brings_data(request.work.opcode)) work.byte_len = static_cast<std::uint32_t>(request.length);
  work.qp_num = verbs.qp_num;
  work.vendor_err = vendor_error_;
  if (!send_completions_.push({work, serial_, request.position + 1}, false) &&
      state_ == IBV_QPS_RTS) {
    break_off(IBV_WC_WR_FLUSH_ERR);
  }
}

void QueuePair::break_off(ibv_wc_status first, bool asked) noexcept {
  if (state_ == IBV_QPS_ERR || state_ == IBV_QPS_RESET) return;
  if (!asked && world_.trace() != nullptr) show("fault", "a queue pair is broken");
  next_failure_ = first;
  state_ = IBV_QPS_ERR;
  ++epoch_;
  while (completed_ < posted_) {
    const Request& request = at(completed_);
    complete(request, std::exchange(next_failure_, IBV_WC_WR_FLUSH_ERR));
    requests_.pop();
    ++completed_;
  }
  issued_ = arrived_ = landed_ = executed_ = answered_ = posted_;
  answers_due_ = stalled_ = 0;
  blocked_ = halted_ = false;
  flush_receives();
  world_.stir(device_.node());
}

void QueuePair::flush_receives() noexcept {
  while (!own_receives_.receives.empty()) {
    ibv_wc work{};
    work.wr_id = own_receives_.receives.front().id;
    work.status = IBV_WC_WR_FLUSH_ERR;
    work.opcode = IBV_WC_RECV;
    work.qp_num = verbs.qp_num;
    own_receives_.receives.pop();
    receive_completions_.push({work, serial_, 0}, false);
  }
}

void QueuePair::reset() noexcept {
  state_ = IBV_QPS_RESET;
  ++epoch_;
  requests_.clear();
  issued_ = arrived_ = landed_ = executed_ = answered_ = completed_ = retired_ = posted_;
  answers_due_ = stalled_ = 0;
  blocked_ = halted_ = false;
  next_failure_ = IBV_WC_WR_FLUSH_ERR;
  vendor_error_ = kNoVendorError;
  given_ = {};
  heard_ = connection_ = 0;
  own_receives_.receives.clear();
  send_completions_.forget(serial_);
  receive_completions_.forget(serial_);
}

void QueuePair::modify(ibv_qp_attr& attributes, int mask) {
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attributes.qp_state : state_;
  check_step(fmt::format("sim queue pair {:#x}", verbs.qp_num), state_, to, attributes, mask);
  verbs.state = to;
  if (to == IBV_QPS_RESET) return reset();
  if (to == IBV_QPS_ERR) return break_off(IBV_WC_WR_FLUSH_ERR, true);
  merge(given_, attributes, mask);
  if (state_ == IBV_QPS_RTR && to == IBV_QPS_RTS) {
    connection_ = world_.random.next() | 1;
    first_ = posted_;
  }
  if (state_ == IBV_QPS_INIT && to == IBV_QPS_RTR) heard_ = 0;
  state_ = to;
}

}  // namespace dtutils::sim
