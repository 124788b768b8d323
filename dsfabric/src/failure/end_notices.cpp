// SPDX-License-Identifier: MIT
// EndNotices: how a process learns that a peer has ended, tells its own end, and parts from others.
#include "failure/end_notices.hpp"

#include "failure/letter.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {

void EndNotices::hear(ProcessId process, std::uint64_t state, std::string_view reason) noexcept {
  if (state == EndNotice::kLeft) failures_.mark_left(process);
  if (state == EndNotice::kFailed) failures_.declare(process, reason);
}

void EndNotices::check(ProcessId process) noexcept {
  if (process == members_.self() || !failures_.active(process)) {
    return;
  }
  // Looked at before the notice: a process writes its notice before it goes, to those whose
  // Transmitters are handed out. Of others a letter or the launcher tells.
  const HeldTransmitter held = connections_.try_hold(threads_.failure_detector(), process);
  const bool broken = held && connections_.broken(process);
  if (const auto notice = board_.heard(process)) {
    hear(process, notice->state, notice->why());
  }
  if (broken) failures_.declare(process, connections_.why_broken(process));
}

void EndNotices::check_all() noexcept {
  for (const ProcessId process : connections_.touched()) check(process);
}

template <class Visit>
void EndNotices::for_each_connected(Visit visit) const {
  for (const ProcessId process : connections_.touched()) {
    if (process == members_.self() || !connections_.ready(process)) continue;
    // Also those that have left: they wait for the others, and must not take this end for a
    // crash.
    if (failures_.state(process) != PeerState::kFailed) visit(process);
  }
}

void EndNotices::tell(std::uint64_t state, std::string_view reason) noexcept {
  ThreadContext& context = threads_.home();
  for_each_connected(
      [&](ProcessId to) { (void)board_.tell(context, to, NoticeBoard::kOwnEnd, state, reason); });
  for_each_connected([&](ProcessId to) {
    if (const HeldTransmitter out = connections_.try_hold(context, to)) {
      (void)out->flush(kDrainTimeout);
    }
  });
  send_end(bootstrap_, bootstrap_.capacity(), state, reason);
}

void EndNotices::part_from(ProcessId process, const std::string& reason) noexcept {
  const std::string told = "it regards this process as failed: " + reason;
  ThreadContext& context = threads_.failure_detector();
  const HeldTransmitter out = connections_.try_hold(context, process);
  if (out && board_.tell(context, process, NoticeBoard::kParting, EndNotice::kFailed, told)) {
    (void)out->flush(kPartTimeout);
  }
  connections_.break_off(process);
  send_end(bootstrap_, process.value, EndNotice::kFailed, told);
}

}  // namespace dsfabric
