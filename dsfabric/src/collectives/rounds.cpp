// SPDX-License-Identifier: MIT
// Rounds: flags raised, awaited, and compared.
#include "collectives/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
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

std::vector<std::uint32_t> Rounds::partners(std::uint32_t self, std::uint32_t processes) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t stride = 1; stride < processes; stride *= radix_of(processes)) {
    for_each_partner(stride, processes, [&](unsigned, std::uint32_t distance) {
      all.push_back((self + distance) % processes);
      all.push_back((self + processes - distance) % processes);
    });
  }
  std::ranges::sort(all);
  const auto again = std::ranges::unique(all);
  all.erase(again.begin(), again.end());
  return all;
}

void Rounds::expect_partners() {
  if (expected_) return;
  expected_ = true;
  // All at once, and not one after the other.
  for (const std::uint32_t partner : partners(participants_.self(), processes_)) {
    connections_.expect(participants_.process(partner));
  }
}

void Rounds::barrier(ThreadContext& context, const CollectiveCall& call) {
  expect_partners();
  ++barriers_;
  block_.word(RoundLayout::source(Kind::kBarrier, barriers_ % 2)) =
      CollectiveWord(call, barriers_, gathers_).bits();
  unsigned round = 0;
  for (std::uint32_t stride = 1; stride < processes_; stride *= radix_of(processes_), ++round) {
    for_each_partner(stride, processes_, [&](unsigned j, std::uint32_t distance) {
      write_word(context, after(distance), Kind::kBarrier, round, j);
    });
    await_words(context, Kind::kBarrier, round, stride, call,
                [&](std::uint32_t distance) { return before(distance); });
  }
}

void Rounds::gathering(ThreadContext& context, const CollectiveCall& call) {
  expect_partners();
  const RoundLayout& layout = block_.layout();
  const unsigned parity = gather_parity();
  ++gathers_;
  block_.word(RoundLayout::source(Kind::kGathering, parity)) =
      CollectiveWord(call, gathers_, barriers_).bits();
  unsigned round = 0;
  for (std::uint32_t stride = 1; stride < processes_; stride *= radix_of(processes_), ++round) {
    for_each_partner(stride, processes_, [&](unsigned j, std::uint32_t distance) {
      const std::uint32_t slots = std::min(stride, processes_ - distance);
      write(context, before(distance), layout.slot(parity, distance), layout.slot(parity, 0),
            slots * layout.slot_bytes());
      write_word(context, before(distance), Kind::kGathering, round, j);
    });
    await_words(context, Kind::kGathering, round, stride, call,
                [&](std::uint32_t distance) { return after(distance); });
  }
}

void Rounds::write_word(ThreadContext& context, std::uint32_t to, Kind kind, unsigned round,
                        unsigned partner) {
  const unsigned parity = count_of(kind) % 2;
  write(context, to, RoundLayout::flag(kind, parity, round, partner),
        RoundLayout::source(kind, parity), sizeof(Flag::count));
}

template <class Where>
void Rounds::await_words(ThreadContext& context, Kind kind, unsigned round, std::uint32_t stride,
                         const CollectiveCall& call, Where where) {
  const Kind other = kind == Kind::kBarrier ? Kind::kGathering : Kind::kBarrier;
  const std::uint64_t count = count_of(kind);
  for_each_partner(stride, processes_, [&](unsigned j, std::uint32_t distance) {
    const std::uint32_t from = where(distance);
    const std::size_t flag = RoundLayout::flag(kind, count % 2, round, j);
    const std::uint64_t& theirs = block_.word(flag);
    wait_.until(
        context, participants_.process(from), [&] { return load(theirs).reached(count); },
        [&] { look_for_other(other, call); });
    require_same(from, flag, call);
  });
}

void Rounds::wait_for_posts(ThreadContext& context, std::uint32_t slot) {
  SettledPeers& peers = *settled_[slot];
  const auto settled = [&](std::uint32_t i) {
    const HeldTransmitter out = connections_.try_hold(context, participants_.process(i));
    return !out || peers.at(i).is(out->tag());
  };
  for (std::uint32_t i = 0; i < processes_; ++i) {
    if (!settled(i)) return settle(context, peers, i);
  }
}

void Rounds::settle(ThreadContext& context, SettledPeers& peers, std::uint32_t first) {
  for (std::uint32_t i = first; i < processes_; ++i) {
    const HeldTransmitter out = connections_.try_hold(context, participants_.process(i));
    if (!out) continue;
    const dtutils::RetireTag tag = out->tag();
    Settled& settled = peers.at(i);
    if (settled.is(tag)) continue;
    settled = {tag, true};
    // What was posted without a signal is known to be done when something after it is.
    messages_.make_room(context, *out);
    if (!tag.done()) (void)out->write(dtutils::LocalBuffer{}, {}, dtutils::kSignaled);
  }
  for (std::uint32_t i = first; i < processes_; ++i) {
    Settled* const settled = peers.find(i);
    if (settled == nullptr || !settled->awaited) continue;
    const ProcessId to = participants_.process(i);
    wait_.until(context, to, [&] {
      const HeldTransmitter out = connections_.try_hold(context, to);
      if (out) (void)out->progress();
      return settled->tag.done() || (out && out->broken());
    });
    settled->awaited = false;
    if (const HeldTransmitter out = connections_.try_hold(context, to)) {
      settled->pass_over(*out, settled->tag);
      // What it has not carried is lost, and the words of this barrier may go by another one.
      if (out->broken()) [[unlikely]] {
        end_by(context, to);
      }
    }
  }
}

void Rounds::write(ThreadContext& context, std::uint32_t to, std::size_t offset, std::size_t source,
                   std::size_t length) {
  const ProcessId process = participants_.process(to);
  const HeldTransmitter out = connections_.hold(context, process);
  const dtutils::RetireTag before = out->tag();
  if (!block_.write(*out, to, offset, source, length)) [[unlikely]] {
    end_by(context, process);
  }
  settled_[participants_.slot_of(context.number)]->at(to).pass_over(*out, before);
}

void Rounds::end_by(ThreadContext& context, ProcessId process) {
  if (process == participants_.process(participants_.self())) {
    throw dtutils::Error(
        "a collective operation",
        "what this process has written to itself is lost: " + connections_.why_broken(process),
        "look for a write to memory that is not registered, or by another key");
  }
  // The failure detector's thread knows, or finds out, why.
  failures_.look();
  wait_.until(context, process, [] { return false; });
}

void Rounds::require_same(std::uint32_t peer, std::size_t flag, const CollectiveCall& mine) const {
  const std::uint64_t& word = block_.word(flag);
  if (!load(word).is_for(mine) && stays([&] { return !load(word).is_for(mine); })) [[unlikely]] {
    throw_mismatch(participants_,
                   fmt::format("process {}", participants_.process(participants_.self())), mine,
                   fmt::format("process {}", participants_.process(peer)), load(word).call());
  }
}

void Rounds::look_for_other(Kind other, const CollectiveCall& mine) const {
  const bool barrier = other == Kind::kBarrier;
  // Whose words of the first round come here.
  const std::uint32_t neighbour = barrier ? before(1) : after(1);
  for (unsigned parity = 0; parity < 2; ++parity) {
    const std::size_t flag = RoundLayout::flag(other, parity, 0, 1);
    // It is in one that this process has not come to, and was not in this one before.
    const auto elsewhere = [&] {
      const CollectiveWord theirs = load(block_.word(flag));
      return theirs.reached(count_of(other) + 1) &&
             !theirs.other_reached(barrier ? gathers_ : barriers_);
    };
    if (elsewhere() && stays(elsewhere)) require_same(neighbour, flag, mine);
  }
}

}  // namespace dsfabric
