// SPDX-License-Identifier: MIT
// OutgoingRing: from one chunk to the next, and what happens while none is free.
#include <algorithm>
#include <utility>

#include "dtutils/wait.hpp"
#include "dtutils/wait_hook.hpp"
#include "ring/stall_span.hpp"
#include "riutils/detail/outgoing_ring.hpp"
#include "riutils/ring_set.hpp"

namespace riutils::detail {
namespace {

/// A waiting fiber has touched about so many bytes of its stack.
constexpr std::uint64_t kFiberBytes = 4096;

}  // namespace

void OutgoingRing::ask_for_chunks() {
  if (!circle_.may_ask()) return;
  ring_set_.attend_to(*this);
  if (!circle_.ask()) give_up();
}

void OutgoingRing::take_grant() {
  if (circle_.answered() && !circle_.take_grant()) give_up();
}

void OutgoingRing::prepare() {
  if (circle_.empty()) ask_for_chunks();
}

void OutgoingRing::setup(const SendPolicy&) {
  while (circle_.empty() && !gone()) {
    take_grant();
    if (!circle_.empty() || gone()) return;
    circle_.require_any();
    ask_for_chunks();
    const bool in_handler = ring_set_.thread().in_handler();
    if (!wait_for_room(in_handler) && in_handler) return;
  }
}

bool OutgoingRing::enter_next_chunk() noexcept {
  dtutils::RDMAMemory mirror = circle_.take_next_mirror(ring_set_.thread().zone());
  if (!mirror) return false;
  if (circle_.entered()) {
    writer_.close_record();
    bytes_ += writer_.filled(options_.chunk_bytes);
    if (!post(circle_.control_word(), nullptr)) return false;
    ++counters_.chunks_filled;
  }
  writer_.start(mirror.data(), options_.chunk_bytes);
  use_next_chunk(std::move(mirror));
  set_state(State::kSending);
  return true;
}

void OutgoingRing::use_next_chunk(dtutils::RDMAMemory mirror) noexcept {
  const dtutils::RemoteMemoryLocator& chunk = circle_.use_next(std::move(mirror));
  sender_.aim(chunk, circle_.mirror());
}

bool OutgoingRing::queue(QueueLimit limit) noexcept {
  if (gone()) return false;
  const std::uint64_t bytes = (queue_.size() + 1) * std::uint64_t{options_.chunk_bytes};
  if (limit == QueueLimit::kOptions && bytes > options_.queue_limit) return false;
  dtutils::RDMAMemory memory = circle_.local_chunk(ring_set_.thread().zone());
  if (!memory) return false;
  writer_.close_record();
  bytes_ += writer_.filled(options_.chunk_bytes);
  if (state_ == State::kSending) {
    if (writer_.has_unsent() && !post(0, nullptr)) return false;
    tail_ = writer_.at();
  }
  std::byte* const low = writer_.at();
  writer_.start(memory.data(), options_.chunk_bytes);
  queue_.push(std::move(memory), low);
  ++counters_.queued;
  counters_.max_queued = std::max(counters_.max_queued, bytes);
  set_state(State::kQueueing);
  ring_set_.attend_to(*this);
  return true;
}

void OutgoingRing::send_queued() noexcept {
  while (state_ == State::kQueueing && circle_.next_is_free() && !sender_.is_backlogged()) {
    if (circle_.entered()) {
      put_word(tail_ - kRingWord, circle_.control_word());
      if (sender_.write(tail_ - kRingWord, tail_, nullptr) == nullptr) {
        give_up();
        return;
      }
      ++counters_.chunks_filled;
    }
    CallQueue::Chunk chunk = queue_.pop();
    if (queue_.empty()) {
      writer_.close_record();
      chunk.low = writer_.at();
    }
    std::byte* const end = chunk.memory.data() + options_.chunk_bytes;
    use_next_chunk(std::move(chunk.memory));
    std::byte* const zero = chunk.low - kRingWord;
    put_word(zero, 0);
    tail_ = chunk.low == end ? end : sender_.write(zero, end, nullptr);
    const bool written = tail_ != nullptr;
    if (written && queue_.empty()) {
      writer_.go_on_at(tail_);
      set_state(State::kSending);
    }
    if (!written) give_up();
    for (dtutils::Synchronizer* const each : chunk.sent) {
      // Of no bytes: it completes after the calls. When it is refused, the Synchronizer fails.
      if (!sender_.transmitter().write(dtutils::LocalBuffer{}, {}, dtutils::PostOptions(*each)))
        give_up();
    }
  }
}

bool OutgoingRing::next_chunk(const SendPolicy& policy, std::uint32_t needed) {
  for (bool first = true;; first = false) {
    take_grant();
    circle_.require_any();
    send_queued();
    if (gone()) return false;
    if (writer_.room() >= needed) return true;
    if (has_room()) return enter_next_chunk();
    if (first) ++counters_.stalls;
    ask_for_chunks();
    if (gone()) return false;
    if (policy.queue && queue(QueueLimit::kOptions)) return true;
    const bool in_handler = ring_set_.thread().in_handler();
    const bool setting_up = circle_.empty() && !in_handler;
    if (policy.when_full != WhenFull::kRetry && !setting_up) return false;
    // In a handler outside a fiber: whoever is to make room may wait for this very thread. What
    // bounds these is that the RingSet takes fewer calls in (excess).
    if (!wait_for_room(in_handler)) return queue(QueueLimit::kMemory);
  }
}

std::uint64_t OutgoingRing::excess() const noexcept {
  const std::uint64_t queued = queue_.size() * std::uint64_t{options_.chunk_bytes};
  return queued - std::min<std::uint64_t>(queued, options_.queue_limit) +
         waiters_.fibers() * kFiberBytes;
}

bool OutgoingRing::wait_for_room(bool in_handler) {
  RoomWaiters::Waiter waiter(waiters_);
  const StallSpan stall(to_);
  ring_set_.attend_to(*this);
  dtutils::Backoff backoff;
  do {
    ++counters_.retries;
    if (attend(); waiter.room().done()) return true;
    // A fiber comes back from here when there is room.
    dtutils::run_wait_hook(waiter.room()) ? backoff.reset() : backoff.pause();
  } while (!in_handler && !waiter.room().done());
  return waiter.room().done();
}

bool OutgoingRing::attend() noexcept {
  if (!gone() && ring_set_.fabric().state(to_.process) != dsfabric::PeerState::kActive) give_up();
  if (!gone()) take_grant();
  send_queued();
  const bool old = writer_.has_unsent() && ring_set_.epoch() - batched_ >= 2;
  if (state_ == State::kSending && old && !sender_.is_backlogged()) (void)post(0, nullptr);
  if (!waiters_.empty() && has_room()) waiters_.wake_all();
  return !gone() && (circle_.asked() || unsent() || !waiters_.empty());
}

}  // namespace riutils::detail
