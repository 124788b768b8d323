// SPDX-License-Identifier: MIT
// OutgoingRing: from one chunk to the next, and what happens while none is free.
#include <algorithm>
#include <utility>

#include "dtutils/device_memory.hpp"
#include "dtutils/wait.hpp"
#include "dtutils/wait_hook.hpp"
#include "riutils/detail/outgoing_ring.hpp"
#include "riutils/fiber_pool.hpp"
#include "riutils/ring_set.hpp"

namespace riutils {

/// On the stack of the call that waits; the ring knows it until one of the two lets go.
struct OutgoingRing::Waiter {
  explicit Waiter(OutgoingRing& its_ring) noexcept
      : ring(its_ring), next(its_ring.waiters_), fiber(FiberPool::inside()) {
    ring.waiters_ = this;
    ring.waiting_fibers_ += fiber;
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() {
    ring.waiting_fibers_ -= fiber;
    for (Waiter** at = &ring.waiters_; *at != nullptr; at = &(*at)->next) {
      if (*at == this) {
        *at = next;
        return;
      }
    }
  }

  OutgoingRing& ring;
  Waiter* next;
  const bool fiber;
  dtutils::Synchronizer room{1};
};

bool OutgoingRing::next_is_free() const noexcept {
  if (circle_.empty()) return false;
  const Slot& next = circle_[(slot_ + 1) % circle_.size()];
  // Pairs with the receiver's write after it has left the chunk.
  return next.sequence == kUnused ||
         dtutils::load_device_word(reinterpret_cast<const std::uint64_t*>(consumed_.data())) >
             next.sequence;
}

dtutils::RDMAMemory OutgoingRing::local_chunk() noexcept {
  dtutils::RDMAMemory memory;
  if (!spare_.empty()) {
    memory = std::move(spare_.back());
    spare_.pop_back();
  } else if (auto fresh = ring_set_.fabric()
                              .general_allocator(ring_set_.thread().zone())
                              .try_allocate(options_.chunk_bytes)) {
    memory = std::move(*fresh);
  }
  return memory;
}

void OutgoingRing::enter(dtutils::RDMAMemory mirror) noexcept {
  slot_ = (slot_ + 1) % circle_.size();
  Slot& slot = circle_[slot_];
  // The receiver has consumed what the old mirror sent, so no device needs that any more.
  if (slot.mirror && spare_.size() < spare_.capacity()) spare_.push_back(std::move(slot.mirror));
  slot.mirror = std::move(mirror);
  slot.sequence = sequence_++;
  grown_ = 0;
  to_remote_ = slot.chunk.address - reinterpret_cast<std::uint64_t>(slot.mirror.data());
  rkey_ = slot.chunk.rkey;
  record_.set_rkey(rkey_);
  lkey_ = slot.mirror.lkey();
}

bool OutgoingRing::enter() noexcept {
  dtutils::RDMAMemory mirror = std::move(circle_[(slot_ + 1) % circle_.size()].mirror);
  if (!mirror) mirror = local_chunk();
  if (!mirror) return false;
  if (tail_ != nullptr) {
    stop_filling();
    if (!post(RingHeader{RingHeader::kControl, grown_, 0}.encode(), nullptr)) return false;
    ++counters_.chunks_filled;
  }
  start_filling(mirror);
  enter(std::move(mirror));
  sent_ = tail_ = at_;
  refresh();
  return true;
}

void OutgoingRing::start_filling(const dtutils::RDMAMemory& memory) noexcept {
  begin_ = memory.data();
  at_ = floor_ = begin_ + options_.chunk_bytes;
}

void OutgoingRing::stop_filling() noexcept {
  close_record();
  bytes_ += static_cast<std::uint64_t>(begin_ + options_.chunk_bytes - at_);
}

bool OutgoingRing::queue(QueueLimit limit) noexcept {
  const std::uint64_t bytes = (queue_.size() + 1) * std::uint64_t{options_.chunk_bytes};
  if (limit == QueueLimit::kOptions && bytes > options_.queue_limit) return false;
  dtutils::RDMAMemory memory = local_chunk();
  if (!memory) return false;
  if (begin_ != nullptr) {
    stop_filling();
    if (!queue_.empty()) {
      queue_.back().low = at_;
    } else {
      if (at_ != sent_ && !post(0, nullptr)) return false;
      tail_ = at_;
    }
  }
  start_filling(memory);
  sent_ = nullptr;
  queue_.push_back({std::move(memory)});
  ++counters_.queued;
  counters_.max_queued = std::max(counters_.max_queued, bytes);
  refresh();
  ring_set_.attend_to(*this);
  return true;
}

void OutgoingRing::send_queued() noexcept {
  while (!queue_.empty() && next_is_free() && !is_backlogged()) {
    if (tail_ != nullptr) {
      put_word(tail_ - kRingWord, RingHeader{RingHeader::kControl, grown_, 0}.encode());
      bool inlined;
      if (!write(tail_ - kRingWord, tail_, nullptr, inlined)) return;
      ++counters_.chunks_filled;
    }
    const std::vector<dtutils::Synchronizer*> sent = std::move(queue_.front().sent);
    std::byte* low = queue_.front().low;
    const bool last = queue_.size() == 1;
    if (last) {
      close_record();
      low = at_;
    }
    std::byte* const end = queue_.front().memory.data() + options_.chunk_bytes;
    enter(std::move(queue_.front().memory));
    queue_.pop_front();
    put_word(low - kRingWord, 0);
    bool inlined = true;
    const bool written = low == end || write(low - kRingWord, end, nullptr, inlined);
    tail_ = inlined ? low : low - kRingWord;
    if (!inlined) to_remote_ += kRingWord;
    if (last) at_ = sent_ = floor_ = tail_;
    for (dtutils::Synchronizer* const each : sent) {
      // Of no bytes: it completes after the calls. When it is refused, the Synchronizer fails.
      if (!transmitter_->write(dtutils::LocalBuffer{}, {}, dtutils::PostOptions(*each))) give_up();
    }
    if (!written || gone_) return;
  }
  refresh();
}

bool OutgoingRing::next_chunk(const SendPolicy& policy, std::uint32_t needed) {
  for (bool first = true;; first = false) {
    if (asked_ && grant_.done()) take_grant();
    require_chunks();
    send_queued();
    if (gone_) return false;
    if (static_cast<std::size_t>(at_ - begin_) >= needed) return true;
    if (queue_.empty() && next_is_free()) return enter();
    if (first) ++counters_.stalls;
    ask_for_chunks();
    if (policy.queue && queue(QueueLimit::kOptions)) return true;
    const bool in_handler = ring_set_.thread().in_handler();
    const bool setting_up = circle_.empty() && !in_handler;
    if (policy.when_full != WhenFull::kRetry && !setting_up) return false;
    // In a handler that is no fiber: whoever is to make room may wait for this very thread. What
    // bounds these is that the RingSet takes fewer calls in (excess).
    if (!wait_for_room(in_handler)) return queue(QueueLimit::kMemory);
  }
}

std::uint64_t OutgoingRing::excess() const noexcept {
  const std::uint64_t queued = queue_.size() * std::uint64_t{options_.chunk_bytes};
  return queued - std::min<std::uint64_t>(queued, options_.queue_limit) +
         waiting_fibers_ * kFiberBytes;
}

bool OutgoingRing::wait_for_room(bool in_handler) {
  Waiter waiter(*this);
  ring_set_.attend_to(*this);
  dtutils::Backoff backoff;
  do {
    ++counters_.retries;
    if (attend(); waiter.room.done()) return true;
    // A fiber comes back from here when there is room.
    dtutils::run_wait_hook(waiter.room) ? backoff.reset() : backoff.pause();
  } while (!in_handler && !waiter.room.done());
  return waiter.room.done();
}

bool OutgoingRing::attend() noexcept {
  if (!gone_ && ring_set_.fabric().state(to_.process) != dsfabric::PeerState::kActive) give_up();
  if (!gone_ && asked_ && grant_.done()) take_grant();
  if (!gone_) send_queued();
  const bool old = queue_.empty() && at_ != sent_ && ring_set_.epoch() - batched_ >= 2;
  if (!gone_ && old && !is_backlogged()) (void)post(0, nullptr);
  if (waiters_ != nullptr && has_room()) wake();
  return !gone_ && (asked_ || unsent() || waiters_ != nullptr);
}

void OutgoingRing::wake() noexcept {
  Waiter* waiter = std::exchange(waiters_, nullptr);
  while (waiter != nullptr) {
    // A waiter may be gone as soon as it is told.
    Waiter* const next = waiter->next;
    waiter->room.decrement();
    waiter = next;
  }
}

}  // namespace riutils
