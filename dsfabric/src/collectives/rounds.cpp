// SPDX-License-Identifier: MIT
// Rounds: flags raised, awaited, and compared.
#include "collectives/rounds.hpp"

#include <fmt/format.h>

#include "dtutils/device_memory.hpp"
#include "dtutils/wait.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {
namespace {

CollectiveWord load(const std::uint64_t& flag) noexcept {
  return CollectiveWord(dtutils::load_device_word(&flag));
}

/// A device may write a word in parts, first those that tell how far its process is: what does not
/// fit is looked at again for a while. True when it stays so.
template <class Wrong>
bool stays(Wrong wrong) {
  dtutils::Deadline deadline(kWordPatience);
  dtutils::Backoff backoff;
  while (wrong()) {
    if (deadline.passed()) return true;
    backoff.pause();
  }
  return false;
}

}  // namespace

void Rounds::barrier(ThreadContext& context, const CollectiveCall& call) {
  const ControlLayout& layout = control_.layout();
  const std::uint64_t count = ++barriers_;
  unsigned round = 0;
  for (std::uint32_t distance = 1; distance < processes_; distance *= 2, ++round) {
    const std::size_t offset = layout.barrier_flag(count % 2, round);
    const ProcessId to{static_cast<std::uint16_t>((members_.self().value + distance) % processes_)};
    const ProcessId from{
        static_cast<std::uint16_t>((members_.self().value + processes_ - distance) % processes_)};
    control_.own().source<Flag>(offset)->count = CollectiveWord(call, count, gathers_).bits();
    write(context, to, offset, sizeof(Flag::count));
    const std::uint64_t& flag = control_.own().at<Flag>(offset)->count;
    wait_.until(
        context, from, [&] { return load(flag).reached(count); },
        [&] { look_for_gathering(from, call); });
    require_same(from, flag, call);
  }
}

void Rounds::gathering(ThreadContext& context, const CollectiveCall& call) {
  ControlBlock& control = control_.own();
  const ControlLayout& layout = control.layout();
  const unsigned parity = gather_parity();
  const std::uint64_t count = ++gathers_;
  const std::size_t bytes = layout.gather_bytes(parity, members_.self());
  const std::size_t flag = layout.gather_flag(parity, members_.self());
  const std::uint32_t workers = members_.threads();
  control.source<Flag>(flag)->count = CollectiveWord(call, count, barriers_).bits();
  for (std::uint32_t i = 1; i < processes_; ++i) {
    const ProcessId to{static_cast<std::uint16_t>((members_.self().value + i) % processes_)};
    write(context, to, bytes, workers * kGatherBytes);
    write(context, to, flag, sizeof(Flag::count));
  }
  // Whose word of the first round of a barrier comes here.
  const ProcessId before{
      static_cast<std::uint16_t>((members_.self().value + processes_ - 1) % processes_)};
  for (std::uint32_t i = 1; i < processes_; ++i) {
    const ProcessId from{static_cast<std::uint16_t>((members_.self().value + i) % processes_)};
    const std::uint64_t& theirs = control.at<Flag>(layout.gather_flag(parity, from))->count;
    wait_.until(
        context, from, [&] { return load(theirs).reached(count); },
        [&] { look_for_barrier(before, call); });
    require_same(from, theirs, call);
  }
}

void Rounds::wait_for_posts(ThreadContext& context) {
  for (std::uint16_t i = 0; i < processes_; ++i) {
    const ProcessId to{i};
    dtutils::Transmitter& out = connections_.of(context, to);
    const dtutils::RetireTag tag = out.tag();
    Settled& settled = settled_[context.number][i];
    if (settled.tag.ticket == tag.ticket) continue;
    settled = {tag, true};
    // What was posted without a signal is known to be done when something after it is.
    messages_.make_room(context, out);
    if (!tag.done()) (void)out.write(dtutils::LocalBuffer{}, {}, dtutils::kSignaled);
  }
  for (std::uint16_t i = 0; i < processes_; ++i) {
    Settled& settled = settled_[context.number][i];
    if (!settled.awaited) continue;
    const ProcessId to{i};
    dtutils::Transmitter& out = connections_.of(context, to);
    wait_.until(context, to, [&] {
      (void)out.progress();
      // A broken one ends the collective that follows.
      return settled.tag.done() || out.broken();
    });
    settled.awaited = false;
    pass_over(context, to, settled.tag.ticket);
  }
}

void Rounds::write(ThreadContext& context, ProcessId to, std::size_t offset, std::size_t length) {
  const dtutils::Transmitter& out = connections_.of(context, to);
  const std::uint64_t before = out.tag().ticket;
  if (!control_.write(context, to, offset, offset, length)) [[unlikely]] {
    // The failure detector's thread knows, or finds out, why.
    failures_.look();
    wait_.until(context, to, [] { return false; });
  }
  pass_over(context, to, before);
}

void Rounds::pass_over(ThreadContext& context, ProcessId to, std::uint64_t before) noexcept {
  const dtutils::RetireTag now = connections_.of(context, to).tag();
  dtutils::RetireTag& settled = settled_[context.number][to.value].tag;
  // Else others share the Transmitter, and have posted too.
  if (settled.ticket == before && now.ticket == before + 1) settled = now;
}

void Rounds::require_same(ProcessId peer, const std::uint64_t& flag,
                          const CollectiveCall& mine) const {
  if (!load(flag).is_for(mine) && stays([&] { return !load(flag).is_for(mine); })) [[unlikely]] {
    throw_mismatch(members_, fmt::format("process {}", members_.self()), mine,
                   fmt::format("process {}", peer), load(flag).call());
  }
}

void Rounds::look_for_barrier(ProcessId peer, const CollectiveCall& mine) const {
  for (unsigned parity = 0; parity < 2; ++parity) {
    const std::size_t offset = control_.layout().barrier_flag(parity, 0);
    const std::uint64_t& flag = control_.own().at<Flag>(offset)->count;
    // It is in a barrier that this process has not come to, and was not in this gathering before.
    const auto elsewhere = [&] {
      const CollectiveWord theirs = load(flag);
      return theirs.reached(barriers_ + 1) && !theirs.other_reached(gathers_);
    };
    if (elsewhere() && stays(elsewhere)) require_same(peer, flag, mine);
  }
}

void Rounds::look_for_gathering(ProcessId peer, const CollectiveCall& mine) const {
  for (unsigned parity = 0; parity < 2; ++parity) {
    const std::size_t offset = control_.layout().gather_flag(parity, peer);
    const std::uint64_t& flag = control_.own().at<Flag>(offset)->count;
    const auto elsewhere = [&] {
      const CollectiveWord theirs = load(flag);
      return theirs.reached(gathers_ + 1) && !theirs.other_reached(barriers_);
    };
    if (elsewhere() && stays(elsewhere)) require_same(peer, flag, mine);
  }
}

}  // namespace dsfabric
