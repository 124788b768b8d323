// SPDX-License-Identifier: MIT
// Transmitter: keeps the first failure, and finds the end of what the device drops after one.
#include <cstdlib>

#include "dtutils/error.hpp"
#include "dtutils/transmitter.hpp"

namespace dtutils {
namespace {

std::uint64_t pack(const ibv_wc& failure) noexcept {
  return std::uint64_t{failure.vendor_err} << 32 |
         (static_cast<std::uint64_t>(failure.opcode) & 0xffff) << 16 |
         static_cast<std::uint64_t>(failure.status);
}
ibv_wc_status status_of(std::uint64_t packed) noexcept {
  return static_cast<ibv_wc_status>(packed & 0xffff);
}

}  // namespace

std::optional<ibv_wc> Transmitter::error() const noexcept {
  // Acquire: pairs with fail.
  const std::uint64_t packed = error_.load(std::memory_order_acquire);
  if (packed == 0) {
    return std::nullopt;
  }
  ibv_wc failure{};
  failure.status = status_of(packed);
  failure.opcode = static_cast<ibv_wc_opcode>(packed >> 16 & 0xffff);
  failure.vendor_err = static_cast<std::uint32_t>(packed >> 32);
  failure.qp_num = qp_->qp_num;
  return failure;
}

void Transmitter::fail(const ibv_wc& completion) noexcept {
  const std::uint64_t failure = pack(completion);
  std::uint64_t known = 0;
  // Release: pairs with error(). The first failure stays, except that one which says more than
  // "flushed" replaces one which does not: pollers may report out of order.
  while (!error_.compare_exchange_weak(known, failure, std::memory_order_release,
                                       std::memory_order_relaxed)) {
    if (known != 0 &&
        (status_of(known) != IBV_WC_WR_FLUSH_ERR || completion.status == IBV_WC_WR_FLUSH_ERR)) {
      break;
    }
  }
  signaling_.fail();
}

void Transmitter::refused(int code) noexcept {
  ibv_wc failure{};
  failure.vendor_err = static_cast<std::uint32_t>(std::abs(code));
  if (queue_pair_.state() == IBV_QPS_ERR) {
    failure.status = IBV_WC_WR_FLUSH_ERR;
  } else {
    failure.status = IBV_WC_LOC_QP_OP_ERR;
    // As the device itself would do it: what follows must not be executed.
    try {
      queue_pair_.disconnect();
    } catch (const Error&) {
    }
  }
  fail(failure);
  // The cause of a flush may be known already.
  while (progress()) {
  }
}

void Transmitter::drain() noexcept {
  Drain idle = Drain::kIdle;
  // Acquire and release only among those who try this; it is posted once.
  if (!drain_.compare_exchange_strong(idle, Drain::kPosting, std::memory_order_acq_rel)) {
    return;
  }
  detail::WorkRequest marker(IBV_WR_RDMA_WRITE, {}, kDrainSlot, IBV_SEND_SIGNALED);
  ibv_send_wr* bad = nullptr;
  const bool posted = ibv_post_send(qp_, &marker.at({}).raw(), &bad) == 0;
  drain_.store(posted ? Drain::kPosted : Drain::kIdle, std::memory_order_release);
}

bool Transmitter::give_back() noexcept {
  // Not "everything is retired": what was posted without a signal may stay so. Where so much is
  // outstanding that the write might have to wait, something signaled tells as well.
  if (!broken() && signaling_.retired() >= asked_ &&
      signaling_.below_signal_threshold(signaling_.issued())) {
    asked_ = signaling_.issued() + 1;
    (void)write(LocalBuffer{}, {}, kSignaled);
  }
  while (progress()) {
  }
  if (!broken() || !signaling_.all_retired()) return false;
  result_region_.reset();
  return true;
}

}  // namespace dtutils
