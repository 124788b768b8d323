// SPDX-License-Identifier: MIT
// Collectives: how workers act together, in their process and across the job.
#include "collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core.hpp"
#include "dsfabric/handler_scope.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "limits.hpp"

namespace dsfabric {
namespace {

[[noreturn]] void throw_mismatch(const std::string& one, const CollectiveCall& its,
                                 const std::string& other, const CollectiveCall& others) {
  throw dtutils::Error(
      "collective operation",
      fmt::format("{} is in {}, and {} in {}", one, describe(its), other, describe(others)),
      "call the same collectives in the same order, with values of one type, on every worker");
}

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

Collectives::Collectives(Core& core)
    : core_(core), workers_(core.peer(core.self()).info.threads), processes_(core.processes()) {
  for (std::uint32_t i = 0; i < workers_; ++i)
    core.thread_registry().worker(i).settled.resize(processes_);
}

void Collectives::throw_if_over() const {
  if (aborted()) {
    throw PeerFailed(core_.self(), "a collective operation", abort_reason());
  }
  if (core_.failures().count() != 0) {
    const ProcessId first = core_.failures().first();
    throw PeerFailed(first, "a collective operation", core_.failures().reason(first));
  }
  if (broken_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(mutex_);
    std::rethrow_exception(broken_by_);
  }
}

void Collectives::break_for_all(std::exception_ptr cause) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!broken_.load(std::memory_order_relaxed)) {
    broken_by_ = std::move(cause);
    // Release: pairs with throw_if_over.
    broken_.store(true, std::memory_order_release);
  }
}

template <class Done, class Look>
void Collectives::wait(ThreadContext& context, ProcessId on, Done done, Look look_around) {
  dtutils::Backoff backoff;
  for (;;) {
    for (unsigned look = 0; look < kFlagLooks; ++look) {
      if (done()) {
        return;
      }
    }
    throw_if_over();
    look_around();
    if (core_.peer(on).state.load(std::memory_order_acquire) == PeerState::kLeft && !done())
        [[unlikely]] {
      throw PeerFailed(on, "a collective operation", "it has left without taking part");
    }
    core_.progress(context) ? backoff.reset() : backoff.pause();
  }
}

void Collectives::require_one_collective() const {
  const ThreadContext& first = core_.thread_registry().worker(0);
  for (std::uint32_t i = 1; i < workers_; ++i) {
    const ThreadContext& other = core_.thread_registry().worker(i);
    if (other.collective == first.collective) continue;
    throw_mismatch(fmt::format("thread {}", first.name), first.collective,
                   fmt::format("thread {}", other.name), other.collective);
  }
}

void Collectives::require_same(ProcessId peer, const std::uint64_t& flag,
                               const CollectiveCall& mine) const {
  if (!load(flag).is_for(mine) && stays([&] { return !load(flag).is_for(mine); })) [[unlikely]] {
    throw_mismatch(fmt::format("process {}", core_.self()), mine, fmt::format("process {}", peer),
                   load(flag).call());
  }
}

void Collectives::look_for_barrier(ProcessId peer, const CollectiveCall& mine) const {
  for (unsigned parity = 0; parity < 2; ++parity) {
    const std::size_t offset = core_.control().layout().barrier_flag(parity, 0);
    const std::uint64_t& flag = core_.control().at<Flag>(offset)->count;
    // It is in a barrier that this process has not come to, and was not in this gathering before.
    const auto elsewhere = [&] {
      const CollectiveWord theirs = load(flag);
      return theirs.reached(barriers_ + 1) && !theirs.other_reached(gathers_);
    };
    if (elsewhere() && stays(elsewhere)) require_same(peer, flag, mine);
  }
}

void Collectives::look_for_gathering(ProcessId peer, const CollectiveCall& mine) const {
  for (unsigned parity = 0; parity < 2; ++parity) {
    const std::size_t offset = core_.control().layout().gather_flag(parity, peer);
    const std::uint64_t& flag = core_.control().at<Flag>(offset)->count;
    const auto elsewhere = [&] {
      const CollectiveWord theirs = load(flag);
      return theirs.reached(gathers_ + 1) && !theirs.other_reached(barriers_);
    };
    if (elsewhere() && stays(elsewhere)) require_same(peer, flag, mine);
  }
}

template <class Act>
void Collectives::together(ThreadContext& context, const CollectiveCall& call, Act act) {
  throw_if_over();
  context.collective = call;
  if (workers_ == 1) {
    arrived_.store(0, std::memory_order_release);
    act();
    return;
  }
  // Relaxed: our own arrival below cannot be overtaken by the end that it is needed for.
  const std::uint64_t before = finished_.load(std::memory_order_relaxed);
  // Acquire and release: the last one sees what all before it have written.
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == workers_) {
    arrived_.store(0, std::memory_order_release);
    try {
      require_one_collective();
      act();
    } catch (...) {
      break_for_all(std::current_exception());
      throw;
    }
    // Release: pairs with the acquire below, so that what arrived from the peers is visible.
    finished_.store(before + 1, std::memory_order_release);
    return;
  }
  wait(context, core_.self(), [&] { return finished_.load(std::memory_order_acquire) != before; });
}

void Collectives::write(ThreadContext& context, ProcessId to, std::size_t offset,
                        std::size_t length) {
  const dtutils::Transmitter& out = core_.transmitter(context, to);
  const std::uint64_t before = out.tag().ticket;
  if (!core_.write_control(context, to, offset, offset, length)) [[unlikely]] {
    // The failure detector's thread knows, or finds out, why.
    core_.failures().look();
    wait(context, to, [] { return false; });
  }
  pass_over(context, to, before);
}

void Collectives::pass_over(ThreadContext& context, ProcessId to, std::uint64_t before) noexcept {
  const dtutils::RetireTag now = core_.transmitter(context, to).tag();
  dtutils::RetireTag& settled = context.settled[to.value].tag;
  // Else others share the Transmitter, and have posted too.
  if (settled.ticket == before && now.ticket == before + 1) settled = now;
}

void Collectives::wait_for_posts(ThreadContext& context) {
  for (std::uint16_t i = 0; i < processes_; ++i) {
    const ProcessId to{i};
    dtutils::Transmitter& out = core_.transmitter(context, to);
    const dtutils::RetireTag tag = out.tag();
    ThreadContext::Settled& settled = context.settled[i];
    if (settled.tag.ticket == tag.ticket) continue;
    settled = {tag, true};
    // What was posted without a signal is known to be done when something after it is.
    core_.make_room(context, out);
    if (!tag.done()) (void)out.write(dtutils::LocalBuffer{}, {}, dtutils::kSignaled);
  }
  for (std::uint16_t i = 0; i < processes_; ++i) {
    ThreadContext::Settled& settled = context.settled[i];
    if (!settled.awaited) continue;
    const ProcessId to{i};
    dtutils::Transmitter& out = core_.transmitter(context, to);
    wait(context, to, [&] {
      (void)out.progress();
      // A broken one ends the collective that follows.
      return settled.tag.done() || out.broken();
    });
    settled.awaited = false;
    pass_over(context, to, settled.tag.ticket);
  }
}

void Collectives::barrier(ThreadContext& context, Collective kind) {
  const CollectiveCall call{kind, 0};
  if (context.in_handler) detail::require_program(core_.fabric(), describe(call));
  wait_for_posts(context);
  together(context, call, [&] { cross_barrier(context, call); });
}

bool Collectives::quiet_barrier(ThreadContext& context, Collective kind) {
  try {
    barrier(context, kind);
    return true;
  } catch (const PeerFailed&) {
    return false;
  }
}

void Collectives::cross_barrier(ThreadContext& context, const CollectiveCall& call) {
  const ControlLayout& layout = core_.control().layout();
  const std::uint64_t count = ++barriers_;
  unsigned round = 0;
  for (std::uint32_t distance = 1; distance < processes_; distance *= 2, ++round) {
    const std::size_t offset = layout.barrier_flag(count % 2, round);
    const ProcessId to{static_cast<std::uint16_t>((core_.self().value + distance) % processes_)};
    const ProcessId from{
        static_cast<std::uint16_t>((core_.self().value + processes_ - distance) % processes_)};
    core_.control().source<Flag>(offset)->count = CollectiveWord(call, count, gathers_).bits();
    write(context, to, offset, sizeof(Flag::count));
    const std::uint64_t& flag = core_.control().at<Flag>(offset)->count;
    wait(
        context, from, [&] { return load(flag).reached(count); },
        [&] { look_for_gathering(from, call); });
    require_same(from, flag, call);
  }
}

void Collectives::gather(ThreadContext& context, Collective kind, std::span<const std::byte> mine,
                         std::span<std::byte> all) {
  const CollectiveCall call{kind, static_cast<std::uint32_t>(mine.size())};
  if (context.in_handler) detail::require_program(core_.fabric(), describe(call));
  ControlBlock& control = core_.control();
  const ControlLayout& layout = control.layout();
  for (std::size_t begin = 0; begin < mine.size(); begin += kGatherBytes) {
    const std::size_t length = std::min(kGatherBytes, mine.size() - begin);
    // The count of this round is known to all: it is raised by whoever acts, before others return.
    const unsigned parity = gathers_ % 2;
    std::memcpy(control.source<std::byte>(layout.gather_bytes(parity, core_.self())) +
                    context.number * kGatherBytes,
                mine.data() + begin, length);
    together(context, call, [&] { exchange_round(context, call); });
    for (const Peer& peer : core_.peers()) {
      const std::size_t offset = layout.gather_bytes(parity, peer.info.id);
      const std::byte* from = peer.info.id == core_.self() ? control.source<std::byte>(offset)
                                                           : control.at<std::byte>(offset);
      for (std::uint32_t i = 0; i < peer.info.threads; ++i) {
        std::memcpy(all.data() + (peer.first_rank + i) * mine.size() + begin,
                    from + i * kGatherBytes, length);
      }
    }
  }
}

void Collectives::exchange_round(ThreadContext& context, const CollectiveCall& call) {
  ControlBlock& control = core_.control();
  const ControlLayout& layout = control.layout();
  const unsigned parity = gathers_ % 2;
  const std::uint64_t count = ++gathers_;
  const std::size_t bytes = layout.gather_bytes(parity, core_.self());
  const std::size_t flag = layout.gather_flag(parity, core_.self());
  control.source<Flag>(flag)->count = CollectiveWord(call, count, barriers_).bits();
  for (std::uint32_t i = 1; i < processes_; ++i) {
    const ProcessId to{static_cast<std::uint16_t>((core_.self().value + i) % processes_)};
    write(context, to, bytes, workers_ * kGatherBytes);
    write(context, to, flag, sizeof(Flag::count));
  }
  // Whose word of the first round of a barrier comes here.
  const ProcessId before{
      static_cast<std::uint16_t>((core_.self().value + processes_ - 1) % processes_)};
  for (std::uint32_t i = 1; i < processes_; ++i) {
    const ProcessId from{static_cast<std::uint16_t>((core_.self().value + i) % processes_)};
    const std::uint64_t& theirs = control.at<Flag>(layout.gather_flag(parity, from))->count;
    wait(
        context, from, [&] { return load(theirs).reached(count); },
        [&] { look_for_barrier(before, call); });
    require_same(from, theirs, call);
  }
}

void Collectives::abort(std::string_view reason) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (aborted_.load(std::memory_order_relaxed)) {
      return;
    }
    abort_reason_ = reason;
    // Release: pairs with the readers of the reason.
    aborted_.store(true, std::memory_order_release);
  }
  core_.tell_end(EndNotice::kFailed, reason);
  core_.mark_aborted();
}

std::string Collectives::abort_reason() const {
  const std::scoped_lock lock(mutex_);
  return abort_reason_;
}

}  // namespace dsfabric
