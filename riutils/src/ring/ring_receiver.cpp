// SPDX-License-Identifier: MIT
// RingReceiver: the poll over all rings, and how rings join.
#include "riutils/detail/ring_receiver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dsfabric/handler_scope.hpp"
#include "dtutils/detail/scope_exit.hpp"
#include "dtutils/device_memory.hpp"
#include "ring/incoming_ring.hpp"
#include "ring/new_chunks.hpp"
#include "ring/poll_moderation.hpp"
#include "ring/ring_limits.hpp"

namespace riutils::detail {
namespace {

/// What the receiver looks at instead of a ring whose sender has broken the protocol.
constexpr std::uint64_t kDisabled = 0;
/// And instead of one that is left alone for a moment.
constexpr std::uint64_t kPaused = 0;

}  // namespace

RingReceiver::RingReceiver(dsfabric::Fabric& fabric, std::uint32_t worker)
    : fabric_(fabric), index_(worker), executed_(fabric.capacity()) {}
RingReceiver::~RingReceiver() = default;

void RingReceiver::join(NewChunks chunks) {
  const std::scoped_lock lock(mutex_);
  arrived_.push_back(std::move(chunks));
  // Release: pairs with poll, which takes the lock anyway.
  arrivals_.fetch_add(1, std::memory_order_release);
}

IncomingRing& RingReceiver::ring_from(const NewChunks& chunks) {
  for (const auto& ring : rings_) {
    if (ring->sender() == chunks.sender && ring->kind() == chunks.kind) return *ring;
  }
  header_words_.push_back(&kDisabled);
  moderation_.emplace_back();
  return *rings_.emplace_back(std::make_unique<IncomingRing>(
      chunks.sender, chunks.kind, chunks.consumed_word, fabric_.functions().entries()));
}

bool RingReceiver::take_arrivals() {
  std::vector<NewChunks> arrived;
  {
    const std::scoped_lock lock(mutex_);
    arrived.swap(arrived_);
    arrivals_taken_ = arrivals_.load(std::memory_order_relaxed);
  }
  for (NewChunks& each : arrived) {
    IncomingRing& ring = ring_from(each);
    const bool first = !ring.has_chunks();
    ring.add(std::move(each.chunks));
    if (!first) continue;
    const auto at = std::ranges::find_if(rings_, [&](auto& other) { return other.get() == &ring; });
    header_words_[static_cast<std::size_t>(at - rings_.begin())] = ring.header_word();
  }
  joined_.store(static_cast<std::uint32_t>(rings_.size()), std::memory_order_release);
  return !arrived.empty();
}

bool RingReceiver::poll(dsfabric::detail::ResultBatcher* results, RingKind min_kind) {
  if (polling_) return false;
  results_ = results;
  bool busy = false;
  // Acquire: pairs with join.
  if (arrivals_.load(std::memory_order_acquire) != arrivals_taken_) [[unlikely]]
    busy = take_arrivals();
  ++polls_;
  if (paused_ != 0) {
    busy = true;
    resume_paused();
  }
  const std::size_t rings = header_words_.size();
  for (std::size_t i = 0; i < rings; ++i) {
    if (dtutils::load_device_word(header_words_[i]) == 0) continue;
    if (min_kind == RingKind::kResults && rings_[i]->kind() != min_kind) continue;
    busy = serve(i) || busy;
  }
  return busy;
}

void RingReceiver::resume_paused() {
  const auto now = PollModeration::Clock::now();
  for (std::size_t i = 0; i < header_words_.size(); ++i) {
    if (header_words_[i] != &kPaused || !moderation_[i].over(now)) continue;
    --paused_;
    moderation_[i].goes_on(polls_);
    header_words_[i] = rings_[i]->header_word();
  }
}

bool RingReceiver::serve(std::size_t index) {
  IncomingRing& ring = *rings_[index];
  const dsfabric::HandlerScope scope(fabric_);
  polling_ = true;
  const std::uint64_t before = ring.counters().calls;
  // Also when a handler throws.
  const dtutils::detail::ScopeExit done([&]() noexcept {
    polling_ = false;
    const std::uint64_t*& header_word = header_words_[index];
    if (header_word != &kDisabled && header_word != &kPaused) header_word = ring.header_word();
    // Release: pairs with executed(), so that whoever sees the number sees what the calls did.
    executed_.add(ring.sender().process, ring.counters().calls - before);
  });

  dsfabric::CallContext call{fabric_, ring.sender(), worker_, forwarder_, results_};
  FiberPool* const fibers = in_fibers_ ? FiberPool::current() : nullptr;
  IncomingRing::End end;
  if (fibers != nullptr) {
    end = ring.run(kBytesPerPoll, call, *fibers);
  } else if (defer_fibers_ && FiberPool::current() == nullptr) [[unlikely]] {
    end = ring.run_inline(kBytesPerPoll, call);
  } else {
    end = ring.run(kBytesPerPoll, call);
  }
  if (end == IncomingRing::End::kNoStack) return ring.counters().calls != before;
  if (end == IncomingRing::End::kEmpty) {
    const PollModeration::Progress progress{ring.counters().calls, ring.consumed()};
    if (moderation_[index].pauses_after(polls_, progress, ring.room())) {
      ++paused_;
      header_words_[index] = &kPaused;
    }
    return true;
  }
  moderation_[index].goes_on(polls_);
  if (end == IncomingRing::End::kChunk) {
    if (arrivals_.load(std::memory_order_acquire) != arrivals_taken_) take_arrivals();
    if (ring.leave_chunk()) {
      // Whoever polls: one such write must not overtake another.
      dtutils::Transmitter& transmitter = fabric_.transmitter_of(index_, ring.sender().process);
      fabric_.make_room(transmitter);
      if (!ring.tell_consumed(transmitter)) header_words_[index] = &kDisabled;
      return true;
    }
    end = IncomingRing::End::kCorrupt;
  }
  if (end == IncomingRing::End::kCorrupt) {
    header_words_[index] = &kDisabled;
    fabric_.fail(ring.sender().process,
                 fmt::format("in the ring of its thread {}, {}", ring.sender(), ring.reason()));
  }
  return true;
}

std::vector<IncomingCounters> RingReceiver::counters() const {
  std::vector<IncomingCounters> all;
  for (const auto& ring : rings_) all.push_back(ring->counters());
  return all;
}

}  // namespace riutils::detail
