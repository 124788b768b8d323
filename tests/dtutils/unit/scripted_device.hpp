// SPDX-License-Identifier: MIT
// A device whose requests are executed when the test says so, with the outcome that it says.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "dtutils/device.hpp"

namespace support {

/// Moves no bytes. Its queue pairs hold requests, in order, until `execute`; completions arrive for
/// signaled and for failed ones; slots of the send queue are freed by polling, as on hardware. Any
/// thread may post, poll and execute.
class ScriptedDevice final : public dtutils::Device {
 public:
  ScriptedDevice() {
    info_.name = "scripted";
    info_.kind = dtutils::DeviceKind::kShm;
    info_.max_inline = 256;
    context_.ops.post_send = [](ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
      return device_of(qp->qp_context).post(qp, wr, bad);
    };
    context_.ops.poll_cq = [](ibv_cq* cq, int count, ibv_wc* into) {
      return device_of(cq->cq_context).poll(cq, count, into);
    };
  }

  /// Executes the next `count` requests of every queue pair.
  void execute(std::size_t count = ~std::size_t{0}) {
    const std::lock_guard lock(mutex_);
    execute_locked(count);
  }
  /// From now on one poll in `every` first executes this many requests.
  void execute_on_poll(std::size_t count, std::uint64_t every = 1) {
    on_poll_ = count;
    every_ = every;
  }
  /// The next request to be executed fails like this, and breaks its queue pair.
  void fail_next(ibv_wc_status status) { next_status_ = status; }
  /// The next post is refused with this code.
  void refuse_next(int code) { refusal_ = code; }
  /// Polls answer that the queue has overflowed.
  void overrun() { overrun_ = true; }
  /// Queue pairs get this much less than they ask for.
  void grant_less(std::uint32_t requests) { grant_less_ = requests; }
  /// Called for each request that succeeds.
  std::function<void(const ibv_send_wr&, const ibv_sge&)> on_execute;

  /// Requests posted so far, with their flags.
  struct Posted {
    std::uint64_t id;
    ibv_wr_opcode opcode;
    unsigned flags;
    int elements;
    std::uint32_t immediate;
  };
  std::vector<Posted> posted() const {
    const std::lock_guard lock(mutex_);
    return posted_;
  }
  std::size_t signaled() const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(
        posted_, [](const Posted& one) { return (one.flags & IBV_SEND_SIGNALED) != 0; }));
  }
  /// The most requests that were outstanding at once, and completions that were unpolled.
  std::uint32_t max_outstanding() const { return max_outstanding_; }
  std::size_t max_completions() const { return max_completions_; }
  /// That are registered.
  int regions() const { return regions_; }
  std::uint32_t completion_depth() const { return static_cast<std::uint32_t>(depth_); }

  ibv_pd* alloc_pd() override { return &pd_; }
  void dealloc_pd(ibv_pd* /*pd*/) noexcept override {}
  ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, int /*access*/) override {
    ++regions_;
    return new ibv_mr{&context_, pd, address, length, 0, 1, 2};
  }
  void dereg_mr(ibv_mr* mr) noexcept override {
    --regions_;
    delete mr;
  }
  ibv_comp_channel* create_comp_channel() override { return nullptr; }
  void destroy_comp_channel(ibv_comp_channel* /*channel*/) noexcept override {}
  ibv_cq* wait_event(ibv_comp_channel* /*channel*/, std::chrono::milliseconds /*t*/) override {
    return nullptr;
  }
  ibv_cq* create_cq(int depth, ibv_comp_channel* /*channel*/) override {
    depth_ = depth;
    auto* cq = new ibv_cq{};
    cq->context = &context_;
    cq->cq_context = this;
    return cq;
  }
  void destroy_cq(ibv_cq* cq) noexcept override { delete cq; }
  ibv_srq* create_srq(ibv_pd* /*pd*/, ibv_srq_init_attr& attributes) override {
    attributes.attr.max_wr -= std::min(attributes.attr.max_wr, grant_less_);
    return &srq_;
  }
  void destroy_srq(ibv_srq* /*srq*/) noexcept override {}
  ibv_qp* create_qp(ibv_pd* /*pd*/, ibv_qp_init_attr& attributes) override {
    attributes.cap.max_send_wr -= std::min(attributes.cap.max_send_wr, grant_less_);
    depth_send_ = attributes.cap.max_send_wr;
    qp_.context = &context_;
    qp_.qp_context = this;
    qp_.qp_num = 77;
    qp_.state = IBV_QPS_RESET;
    return &qp_;
  }
  void destroy_qp(ibv_qp* /*qp*/) noexcept override {}
  void modify_qp(ibv_qp* qp, ibv_qp_attr& attributes, int /*mask*/) override {
    const std::lock_guard lock(mutex_);
    qp->state = attributes.qp_state;
  }
  ibv_qp_state qp_state(ibv_qp* qp) noexcept override {
    const std::lock_guard lock(mutex_);
    return qp->state;
  }
  bool data_in_order(ibv_qp* /*qp*/, ibv_wr_opcode /*opcode*/) noexcept override { return true; }

 private:
  struct Request {
    ibv_send_wr request;
    ibv_sge element;
  };
  struct Completion {
    ibv_wc completion;
    std::uint32_t frees;
  };

  static ScriptedDevice& device_of(void* context) { return *static_cast<ScriptedDevice*>(context); }

  int post(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
    const std::lock_guard lock(mutex_);
    for (; wr != nullptr; wr = wr->next) {
      int code = std::exchange(refusal_, 0);
      if (code == 0 && qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_ERR) code = EINVAL;
      if (code == 0 && outstanding_ == depth_send_) code = ENOMEM;
      if (code != 0) {
        *bad = wr;
        return code;
      }
      const ibv_sge element = wr->num_sge > 0 ? wr->sg_list[0] : ibv_sge{};
      queue_.push_back({*wr, element});
      const bool has_immediate =
          wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
      posted_.push_back(
          {wr->wr_id, wr->opcode, wr->send_flags, wr->num_sge, has_immediate ? wr->imm_data : 0});
      max_outstanding_ = std::max(max_outstanding_, ++outstanding_);
    }
    return 0;
  }

  int poll(ibv_cq* /*cq*/, int count, ibv_wc* into) {
    const std::lock_guard lock(mutex_);
    if (overrun_) return -1;
    if (++polls_ % every_ == 0) execute_locked(on_poll_);
    int polled = 0;
    for (; polled < count && !completions_.empty(); ++polled) {
      into[polled] = completions_.front().completion;
      outstanding_ -= completions_.front().frees;
      completions_.pop_front();
    }
    return polled;
  }

  void execute_locked(std::size_t count) {
    for (; count > 0 && !queue_.empty(); --count) {
      const Request request = queue_.front();
      queue_.pop_front();
      ++executed_;
      ibv_wc_status status = std::exchange(next_status_, IBV_WC_SUCCESS);
      if (qp_.state == IBV_QPS_ERR) status = IBV_WC_WR_FLUSH_ERR;
      if (status == IBV_WC_SUCCESS) {
        if (on_execute) on_execute(request.request, request.element);
        if ((request.request.send_flags & IBV_SEND_SIGNALED) == 0) continue;
      } else {
        qp_.state = IBV_QPS_ERR;
      }
      ibv_wc completion{};
      completion.wr_id = request.request.wr_id;
      completion.status = status;
      completion.qp_num = qp_.qp_num;
      completions_.push_back({completion, std::exchange(executed_, 0)});
      max_completions_ = std::max(max_completions_, completions_.size());
    }
  }

  mutable std::mutex mutex_;
  ibv_context context_{};
  ibv_pd pd_{};
  ibv_qp qp_{};
  ibv_srq srq_{};
  int depth_ = 0;
  std::uint32_t depth_send_ = 0;
  std::uint32_t grant_less_ = 0;
  std::deque<Request> queue_;
  std::deque<Completion> completions_;
  std::vector<Posted> posted_;
  std::size_t on_poll_ = 0;
  std::uint64_t every_ = 1;
  std::uint64_t polls_ = 0;
  ibv_wc_status next_status_ = IBV_WC_SUCCESS;
  int refusal_ = 0;
  int regions_ = 0;
  bool overrun_ = false;
  std::uint32_t executed_ = 0;
  std::uint32_t outstanding_ = 0;
  std::uint32_t max_outstanding_ = 0;
  std::size_t max_completions_ = 0;
};

}  // namespace support
