// SPDX-License-Identifier: MIT
// FailureDetector: one round after the other.
#include "failure_detector.hpp"

#include <poll.h>

#include <mutex>

#include "core.hpp"

namespace dsfabric {

FailureDetector::FailureDetector(Core& core)
    : core_(core), touched_(core.peers().size()), thread_([this] { run(); }) {}

FailureDetector::~FailureDetector() {
  stop_.store(true, std::memory_order_release);
  core_.failures().look();
  thread_.join();
}

void FailureDetector::run() {
  core_.thread_registry().bind(&core_.thread_registry().failure_detector());
  WakeFd& wake = core_.failures().wake_fd();
  const auto interval = static_cast<int>(core_.config().watch_interval.count());
  while (!stop_.load(std::memory_order_acquire)) {
    // A negative descriptor is one that poll(2) ignores: alone there is no launcher.
    pollfd fds[] = {{wake.fd(), POLLIN, 0}, {core_.bootstrap().failure_fd(), POLLIN, 0}};
    const int ready = poll(fds, 2, interval);
    if (fds[0].revents != 0) {
      wake.clear();
    }
    if (fds[1].revents != 0) {
      hear_launcher();
    }
    for (const Peer& peer : core_.peers()) {
      core_.check(peer.info.id);
    }
    if (ready == 0) {
      touch_peers();
    }
    core_.failures().handle(core_.pending(), [this](ProcessId process, const std::string& reason) {
      core_.part_from(process, reason);
    });
  }
}

void FailureDetector::hear_launcher() noexcept {
  // While a collective of the launcher runs, its own limit guards it.
  const std::unique_lock lock(core_.bootstrap_mutex(), std::try_to_lock);
  if (!lock.owns_lock()) {
    return;
  }
  while (const auto failed = core_.bootstrap().next_failed()) {
    if (*failed >= core_.processes()) {
      continue;
    }
    const ProcessId process{static_cast<std::uint16_t>(*failed)};
    core_.check(process);
    core_.failures().declare(process, "the launcher says that it ended");
  }
}

void FailureDetector::touch_peers() noexcept {
  const bool notices_alone = core_.device().info().kind == dtutils::DeviceKind::kShm;
  ThreadContext& context = core_.thread_registry().failure_detector();
  for (const Peer& peer : core_.peers()) {
    if (peer.info.id == core_.self() || !peer.active()) {
      continue;
    }
    dtutils::Transmitter& transmitter = core_.transmitter(context, peer.info.id);
    const dtutils::SelectiveSignaling& signaling = transmitter.signaling();
    // Not "everything is retired": what others sent without asking for a completion may stay so.
    std::uint64_t& touched = touched_[peer.info.id.value];
    if (!notices_alone && signaling.retired() >= touched) {
      touched = signaling.issued() + 1;
      (void)transmitter.write({}, {}, dtutils::kSignaled);
    }
    transmitter.progress();
  }
}

}  // namespace dsfabric
