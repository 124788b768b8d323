// SPDX-License-Identifier: MIT
// Core: how a process learns that a peer has ended, tells its own end, and parts from the others.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "collectives.hpp"
#include "control_service.hpp"
#include "core.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "failure_detector.hpp"
#include "service_threads.hpp"

namespace dsfabric {
namespace {

/// Time that a dying connection gets to finish what was posted on it.
constexpr std::chrono::milliseconds kDrainTimeout{1000};
/// The same when the peer is likely to be dead.
constexpr std::chrono::milliseconds kPartTimeout{20};

}  // namespace

void Core::check(ProcessId process) noexcept {
  Peer& peer = peers_[process.value];
  if (process == self_ || !peer.active()) {
    return;
  }
  // Looked at before the notice: a process writes its notice before it goes.
  const bool broken = peer.broken();
  const auto* notice = control_->at<EndNotice>(control_->layout().end_notice(process));
  switch (dtutils::load_device_word(&notice->state)) {
    case EndNotice::kLeft:
      failures_->mark_left(process);
      return;
    case EndNotice::kFailed:
      failures_->declare(process, {notice->reason, strnlen(notice->reason, sizeof notice->reason)});
      return;
    default:
      break;
  }
  if (!broken) {
    return;
  }
  std::string why = "its connection broke";
  for (const auto& transmitter : peer.transmitters) {
    if (const auto error = transmitter->error()) {
      why += ": " + dtutils::describe(*error);
      break;
    }
  }
  failures_->declare(process, why);
}

bool Core::write_notice(ThreadContext& context, ProcessId to, ProcessId kept_at) noexcept {
  const std::size_t offset = control_->layout().end_notice(self_);
  const std::size_t source = control_->layout().end_notice(kept_at);
  // Two writes, because the bytes of one may arrive in any order.
  constexpr std::size_t kReason = offsetof(EndNotice, reason);
  return write_control(context, to, offset + kReason, source + kReason,
                       sizeof(EndNotice::reason)) &&
         write_control(context, to, offset, source, sizeof(EndNotice::state));
}

void Core::tell_end(std::uint64_t state, std::string_view reason) noexcept {
  control_->source<EndNotice>(control_->layout().end_notice(self_))->set(state, reason);
  const auto others = [&](auto visit) {
    for (const Peer& peer : peers_) {
      // Also those that have left: they wait for the others, and must not take this end for a
      // crash.
      if (peer.info.id != self_ && peer.state.load() != PeerState::kFailed) {
        visit(peer.info.id);
      }
    }
  };
  ThreadContext& context = thread_registry_->home();
  others([&](ProcessId to) { (void)write_notice(context, to, self_); });
  others([&](ProcessId to) { (void)transmitter(context, to).flush(kDrainTimeout); });
}

void Core::part_from(ProcessId process, const std::string& reason) noexcept {
  // The private half's place for the peer has no other use than this.
  control_->source<EndNotice>(control_->layout().end_notice(process))
      ->set(EndNotice::kFailed, "it regards this process as failed: " + reason);
  ThreadContext& context = thread_registry_->failure_detector();
  if (write_notice(context, process, process)) {
    (void)transmitter(context, process).flush(kPartTimeout);
  }
  for (const auto& transmitter : peers_[process.value].transmitters) {
    break_connection(*transmitter);
  }
}

void Core::leave() noexcept {
  if (aborted_ || failure_detector_ == nullptr) {
    return;
  }
  // What any thread has sent comes before the news that this process has left.
  const dtutils::Deadline drained(kDrainTimeout);
  for (const Peer& peer : peers_) {
    if (!peer.active()) continue;
    for (const auto& each : peer.transmitters) {
      const auto left = drained.end() - std::chrono::steady_clock::now();
      (void)each->flush(std::max<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0)));
    }
  }
  tell_end(EndNotice::kLeft, {});
  dtutils::Deadline deadline(config_.leave_timeout);
  dtutils::Backoff backoff;
  thread_registry_->bind(&thread_registry_->home());
  const auto all_gone = [&] {
    bool gone = true;
    for (const Peer& peer : peers_) {
      if (peer.info.id != self_ && peer.active()) {
        check(peer.info.id);
        gone = gone && !peer.active();
      }
    }
    return gone;
  };
  while (!all_gone() && !deadline.passed()) {
    bool busy = false;
    try {
      busy = progress(thread_registry_->home());
    } catch (...) {
      // A handler of a service message failed; its caller learns that no answer comes.
    }
    busy ? backoff.reset() : backoff.pause();
  }
  const std::scoped_lock lock(bootstrap_mutex_);
  bootstrap_->goodbye();
}

Core::~Core() {
  service_threads_.reset();
  failure_detector_.reset();
  for (Peer& peer : peers_) {
    for (const auto& transmitter : peer.transmitters) {
      if (!transmitter->flush(kDrainTimeout)) {
        break_connection(*transmitter);
      }
    }
  }
  thread_starts_.clear();
  termination_.clear();
  attachments_.clear();
  // Memory carries tags that point into the transmitters, so the allocators go before them.
  control_service_.reset();
  thread_registry_.reset();
  control_.reset();
  if (receiver_ != nullptr) {
    receiver_->release_buffers();
  }
  zones_.clear();
}

}  // namespace dsfabric
