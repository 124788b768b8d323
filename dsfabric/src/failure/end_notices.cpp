// SPDX-License-Identifier: MIT
// EndNotices: how a process learns that a peer has ended, tells its own end, and parts from others.
#include "failure/end_notices.hpp"

#include <cstddef>
#include <cstring>

#include "dtutils/device_memory.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {

void EndNotices::check(ProcessId process) noexcept {
  if (process == members_.self() || !failures_.active(process)) {
    return;
  }
  // Looked at before the notice: a process writes its notice before it goes.
  const bool broken = connections_.broken(process);
  const auto* notice = control_.own().at<EndNotice>(control_.layout().end_notice(process));
  switch (dtutils::load_device_word(&notice->state)) {
    case EndNotice::kLeft:
      failures_.mark_left(process);
      return;
    case EndNotice::kFailed:
      failures_.declare(process, {notice->reason, strnlen(notice->reason, sizeof notice->reason)});
      return;
    default:
      break;
  }
  if (broken) failures_.declare(process, connections_.why_broken(process));
}

bool EndNotices::write(ThreadContext& context, ProcessId to, ProcessId kept_at) noexcept {
  const std::size_t offset = control_.layout().end_notice(members_.self());
  const std::size_t source = control_.layout().end_notice(kept_at);
  // Two writes, because the bytes of one may arrive in any order.
  constexpr std::size_t kReason = offsetof(EndNotice, reason);
  return control_.write(context, to, offset + kReason, source + kReason,
                        sizeof(EndNotice::reason)) &&
         control_.write(context, to, offset, source, sizeof(EndNotice::state));
}

void EndNotices::tell(std::uint64_t state, std::string_view reason) noexcept {
  const ProcessId self = members_.self();
  control_.own().source<EndNotice>(control_.layout().end_notice(self))->set(state, reason);
  const auto others = [&](auto visit) {
    for (const Member& member : members_.all()) {
      const ProcessId other = member.info.id;
      // Also those that have left: they wait for the others, and must not take this end for a
      // crash.
      if (other != self && failures_.state(other) != PeerState::kFailed) visit(other);
    }
  };
  ThreadContext& context = threads_.home();
  others([&](ProcessId to) { (void)write(context, to, self); });
  others([&](ProcessId to) { (void)connections_.of(context, to).flush(kDrainTimeout); });
}

void EndNotices::part_from(ProcessId process, const std::string& reason) noexcept {
  // The private half's place for the peer has no other use than this.
  control_.own()
      .source<EndNotice>(control_.layout().end_notice(process))
      ->set(EndNotice::kFailed, "it regards this process as failed: " + reason);
  ThreadContext& context = threads_.failure_detector();
  if (write(context, process, process)) {
    (void)connections_.of(context, process).flush(kPartTimeout);
  }
  connections_.break_off(process);
}

}  // namespace dsfabric
