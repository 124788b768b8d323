// SPDX-License-Identifier: MIT
// Receiver: the poll over all rings, and how rings join.
#include "riutils/detail/receiver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dsfabric/handler_scope.hpp"
#include "dtutils/device_memory.hpp"
#include "ring/incoming_ring.hpp"
#include "ring/limits.hpp"
#include "ring/new_chunks.hpp"
#include "ring/poll_moderation.hpp"

namespace riutils {
namespace {

/// What the receiver looks at instead of a ring whose sender has broken the protocol.
constexpr std::uint64_t kDisabled = 0;
/// And instead of one that is left alone for a moment.
constexpr std::uint64_t kPaused = 0;

}  // namespace

Receiver::Receiver(dsfabric::Fabric& fabric, std::uint32_t worker)
    : fabric_(fabric), index_(worker) {}
Receiver::~Receiver() = default;

void Receiver::join(NewChunks chunks) {
  const std::scoped_lock lock(mutex_);
  arrived_.push_back(std::move(chunks));
  // Release: pairs with poll, which takes the lock anyway.
  arrivals_.fetch_add(1, std::memory_order_release);
}

IncomingRing& Receiver::ring_from(const NewChunks& chunks) {
  for (const auto& ring : rings_) {
    if (ring->sender() == chunks.sender && ring->kind() == chunks.kind) return *ring;
  }
  header_words_.push_back(&kDisabled);
  moderation_.emplace_back();
  const dsfabric::FunctionTable& table = fabric_.functions();
  return *rings_.emplace_back(
      std::make_unique<IncomingRing>(chunks.sender, chunks.kind, chunks.consumed_word,
                                     IncomingRing::Functions(&table.entry(0), table.size())));
}

bool Receiver::take_arrivals() {
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

bool Receiver::poll(dsfabric::ResultBatcher* results, RingKind least) {
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
    if (least == RingKind::kResults && rings_[i]->kind() != least) continue;
    busy = serve(i) || busy;
  }
  return busy;
}

void Receiver::resume_paused() {
  const auto now = PollModeration::Clock::now();
  for (std::size_t i = 0; i < header_words_.size(); ++i) {
    if (header_words_[i] != &kPaused || !moderation_[i].over(now)) continue;
    --paused_;
    moderation_[i].goes_on(polls_);
    header_words_[i] = rings_[i]->header_word();
  }
}

bool Receiver::serve(std::size_t index) {
  IncomingRing& ring = *rings_[index];
  const dsfabric::HandlerScope scope(fabric_);
  polling_ = true;
  const std::uint64_t before = ring.counters().calls;
  // Also when a handler throws.
  const struct Done {
    Receiver& receiver;
    IncomingRing& ring;
    std::size_t index;
    std::uint64_t before;
    ~Done() {
      receiver.polling_ = false;
      const std::uint64_t*& header_word = receiver.header_words_[index];
      if (header_word != &kDisabled && header_word != &kPaused) header_word = ring.header_word();
      std::atomic<std::uint64_t>& all = receiver.executed_;
      // Release: pairs with executed(), so that whoever sees the number sees what the calls did.
      all.store(all.load(std::memory_order_relaxed) + ring.counters().calls - before,
                std::memory_order_release);
    }
  } done{*this, ring, index, before};

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

std::vector<IncomingCounters> Receiver::counters() const {
  std::vector<IncomingCounters> all;
  for (const auto& ring : rings_) all.push_back(ring->counters());
  return all;
}

}  // namespace riutils
