// SPDX-License-Identifier: MIT
// FailureDetector: one round after the other.
#include "failure/failure_detector.hpp"

#include <poll.h>

#include <string>

#include "dtutils/wait.hpp"

namespace dsfabric {

FailureDetector::FailureDetector(std::chrono::milliseconds interval, dtutils::DeviceKind device,
                                 SharedBootstrap& bootstrap, const Members& members,
                                 ThreadRegistry& threads, Connections& connections,
                                 Failures& failures, EndNotices& notices, Handshakes& handshakes,
                                 Membership& membership, PendingTable& pending)
    : interval_(interval),
      device_notices_(device == dtutils::DeviceKind::kShm),
      bootstrap_(bootstrap),
      members_(members),
      threads_(threads),
      connections_(connections),
      failures_(failures),
      notices_(notices),
      handshakes_(handshakes),
      membership_(membership),
      pending_(pending),
      touched_(members.capacity()),
      thread_([this] { run(); }) {}

FailureDetector::~FailureDetector() {
  stop_.store(true, std::memory_order_release);
  failures_.look();
  thread_.join();
}

void FailureDetector::run() {
  threads_.bind(&threads_.failure_detector());
  dtutils::ask_for_short_slices();
  dtutils::WakeFd& wake = failures_.wake_fd();
  while (!stop_.load(std::memory_order_acquire)) {
    // A negative descriptor is one that poll(2) ignores: alone there is no launcher.
    pollfd fds[] = {{wake.fd(), POLLIN, 0}, {bootstrap_.failure_fd(), POLLIN, 0}};
    const int ready = dtutils::wait_for_events(fds, interval_);
    if (fds[0].revents != 0) {
      wake.clear();
    }
    if (fds[1].revents != 0) {
      handshakes_.hear();
    }
    handshakes_.keep_limit();
    notices_.check_all();
    if (ready == 0) {
      touch_peers();
      // After the notices, and after the fabric's own connections: these say better what happened.
      failures_.watch();
      give_back();
    }
    const auto part = [this](ProcessId process, const std::string& reason) {
      handshakes_.fence();
      // First: it would accuse this process as soon as it hears of the parting. Users here are told
      // of it only when its connections are broken.
      membership_.accuse(process, reason);
      notices_.part_from(process, reason);
    };
    failures_.handle(pending_, part, [this](ProcessId process) { gone_.push_back(process); });
  }
}

void FailureDetector::touch_peers() noexcept {
  ThreadContext& context = threads_.failure_detector();
  for (const ProcessId peer : connections_.touched()) {
    if (peer == members_.self() || !failures_.active(peer)) continue;
    const HeldTransmitter transmitter = connections_.try_hold(context, peer);
    if (!transmitter) continue;
    const dtutils::SelectiveSignaling& signaling = transmitter->signaling();
    // Not "everything is retired": what others sent without asking for a completion may stay so.
    std::uint64_t& touched = touched_.at(peer.value);
    if (!device_notices_ && signaling.retired() >= touched) {
      touched = signaling.issued() + 1;
      (void)transmitter->write({}, {}, dtutils::kSignaled);
    }
    transmitter->progress();
  }
}

void FailureDetector::give_back() noexcept {
  std::erase_if(gone_, [this](ProcessId process) { return handshakes_.free(process); });
}

}  // namespace dsfabric
