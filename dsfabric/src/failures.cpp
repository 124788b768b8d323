// SPDX-License-Identifier: MIT
// Failures: the two steps.
#include "failures.hpp"

#include <fmt/format.h>

#include "dtutils/error.hpp"
#include "dtutils/log.hpp"
#include "dtutils/wait.hpp"

namespace dsfabric {

void break_connection(dtutils::Transmitter& transmitter) noexcept {
  try {
    transmitter.queue_pair().disconnect();
  } catch (const dtutils::Error&) {
    // It was never connected, or is broken already.
  }
  // Until the marker behind everything outstanding has come.
  dtutils::Deadline deadline(std::chrono::milliseconds(100));
  dtutils::Backoff backoff;
  const dtutils::SelectiveSignaling& signaling = transmitter.signaling();
  while (signaling.retired() < signaling.issued() && !deadline.passed()) {
    transmitter.progress() ? backoff.reset() : backoff.pause();
  }
}

void Failures::declare(ProcessId process, std::string_view reason) noexcept {
  Peer& peer = peers_[process.value];
  {
    const std::scoped_lock lock(mutex_);
    if (peer.state.load(std::memory_order_relaxed) != PeerState::kActive) {
      return;
    }
    failed_.push_back({process, std::string(reason)});
    // Sequentially consistent: pairs with PendingTable::claim.
    peer.state.store(PeerState::kFailed, std::memory_order_seq_cst);
    count_.fetch_add(1, std::memory_order_release);
  }
  if (logs(dtutils::LogLevel::kWarn)) {
    log(dtutils::LogLevel::kWarn, fmt::format("process {}", self_.value),
        fmt::format("process {} failed: {}", process.value, reason));
  }
  wake_.wake();
}

void Failures::mark_left(ProcessId process) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    PeerState active = PeerState::kActive;
    if (!peers_[process.value].state.compare_exchange_strong(active, PeerState::kLeft,
                                                             std::memory_order_seq_cst)) {
      return;
    }
    left_.push_back(process);
  }
  if (logs(dtutils::LogLevel::kDebug)) {
    log(dtutils::LogLevel::kDebug, fmt::format("process {}", self_.value),
        fmt::format("process {} left the job", process.value));
  }
  wake_.wake();
}

void Failures::handle(
    PendingTable& pending,
    const std::function<void(ProcessId, const std::string& reason)>& part) noexcept {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (left_handled_ < left_.size()) {
      const ProcessId process = left_[left_handled_++];
      lock.unlock();
      pending.fail_all(process);
      continue;
    }
    if (handled_ == failed_.size()) {
      return;
    }
    const Failed failed = failed_[handled_];
    lock.unlock();
    if (failed.process != self_) {
      part(failed.process, failed.reason);
      pending.fail_all(failed.process);
    }
    lock.lock();
    ++handled_;
    // A copy: an upcall may ask for reasons, and more upcalls may be added meanwhile.
    const std::vector<Upcall> upcalls = upcalls_;
    lock.unlock();
    if (failed.process != self_) {
      for (const Upcall& upcall : upcalls) {
        upcall(failed.process, failed.reason);
      }
    }
  }
}

ProcessId Failures::first() const {
  const std::scoped_lock lock(mutex_);
  return failed_.empty() ? self_ : failed_.front().process;
}

std::string Failures::reason(ProcessId process) const {
  const std::scoped_lock lock(mutex_);
  for (const Failed& failed : failed_) {
    if (failed.process == process) {
      return failed.reason;
    }
  }
  return {};
}

void Failures::on_failure(Upcall upcall) {
  std::vector<Failed> before;
  {
    const std::scoped_lock lock(mutex_);
    before.assign(failed_.begin(), failed_.begin() + static_cast<std::ptrdiff_t>(handled_));
    upcalls_.push_back(upcall);
  }
  for (const Failed& failed : before) {
    if (failed.process != self_) {
      upcall(failed.process, failed.reason);
    }
  }
}

}  // namespace dsfabric
