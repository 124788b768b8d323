// SPDX-License-Identifier: MIT
// The shm device's completion channels, completion queues and shared receive queues.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "dtutils/error.hpp"
#include "dtutils/poll_until.hpp"
#include "shm/device.hpp"

namespace dtutils::shm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Clock::time_point after(milliseconds timeout) {
  const auto now = Clock::now();
  const auto max = std::chrono::floor<milliseconds>(Clock::time_point::max() - now);
  return now + std::clamp(timeout, milliseconds(0), max);
}

/// A sender that is stopped after it disarmed a queue, and before it wrote to the channel, would
/// leave a sleeper asleep. So a sleeper looks at its queues after each of these times; an event
/// that is due at two looks in a row counts as given.
constexpr milliseconds kLooksAgain{100};

Channel& from_verbs(ibv_comp_channel* channel) noexcept {
  return *reinterpret_cast<Channel*>(channel);
}

PipeName pipe_of(ibv_comp_channel* channel) noexcept {
  return channel == nullptr ? PipeName{-1, 0} : from_verbs(channel).pipe.name();
}

}  // namespace

ibv_comp_channel* ShmDevice::create_comp_channel() {
  auto channel = std::make_unique<Channel>();
  channel->verbs.context = &context_;
  channel->verbs.fd = channel->pipe.read_fd();
  return &channel.release()->verbs;
}

void ShmDevice::destroy_comp_channel(ibv_comp_channel* channel) noexcept {
  const std::scoped_lock lock(mutex_);
  let_go(channel);
}

void ShmDevice::let_go(ibv_comp_channel* raw) noexcept {
  auto* channel = reinterpret_cast<Channel*>(raw);
  if (channel != nullptr && --channel->users == 0) delete channel;
}

void ShmDevice::let_go(ibv_cq* raw) noexcept {
  auto* queue = reinterpret_cast<CompletionQueue*>(raw);
  if (--queue->users != 0) return;
  ibv_comp_channel* channel = raw->channel;
  agent_.keep_from_stopped(std::shared_ptr<CompletionQueue>(queue));
  let_go(channel);
}

void ShmDevice::let_go(ibv_srq* raw) noexcept {
  auto* queue = reinterpret_cast<SharedReceiveQueue*>(raw);
  if (--queue->users != 0) return;
  agent_.keep_from_stopped(std::shared_ptr<SharedReceiveQueue>(queue));
}

ibv_cq* ShmDevice::wait_event(ibv_comp_channel* channel, milliseconds timeout) {
  if (abandoned_.load(std::memory_order_relaxed)) {
    throw Error("shm completion channel", "it belongs to the process that forked this one",
                "open a device in the child", EOWNERDEAD);
  }
  const Clock::time_point end = after(timeout);
  const CompletionQueue* due = nullptr;
  for (;;) {
    // Reads first: who takes an event that it knows of asks the kernel once.
    std::uint32_t index;
    if (read(channel->fd, &index, sizeof index) == sizeof index) {
      const std::scoped_lock lock(from_verbs(channel).mutex);
      for (CompletionQueue* queue : from_verbs(channel).queues) {
        if (queue->index.get() != index) continue;
        queue->event_expected.store(false);
        return &queue->verbs;
      }
      continue;
    }
    if (Clock::now() >= end) return nullptr;
    const int ready = poll_until(channel->fd, POLLIN, std::min(end, after(kLooksAgain)));
    if (ready < 0) {
      throw Error("shm completion channel", "poll failed", "check that it is still open", errno);
    }
    if (ready == 0 && Clock::now() < end) {
      const std::scoped_lock lock(from_verbs(channel).mutex);
      CompletionQueue* const queue = overlooked(from_verbs(channel));
      if (queue != nullptr && queue == due) {
        queue->event_expected.store(false);
        // A sender that stands before its disarming gives no second event then.
        std::uint32_t next = 1;
        queue->entry->armed.compare_exchange_strong(next, 0);
        return &queue->verbs;
      }
      due = queue;
    }
  }
}

CompletionQueue* ShmDevice::overlooked(const Channel& channel) noexcept {
  for (CompletionQueue* queue : channel.queues) {
    if (!queue->event_expected.load()) continue;
    // Disarmed by a sender; or about to be, by one that has published.
    const std::uint32_t armed = queue->entry->armed.load();
    if (armed == 0 || (armed == 1 && has_completion(*queue->segment, queue->view))) return queue;
  }
  return nullptr;
}

CompletionQueue::CompletionQueue(OwnSegment& own, std::uint32_t depth, ibv_comp_channel* channel)
    : segment(&own.shared()),
      index(own.take_completion_queue()),
      ring(own, kSlotsPerEntry * depth, sizeof(CompletionSlot)),
      entry(&segment->completion_queues[index.get()]),
      view(*entry, index.get(), ring.place(), granted_completions(ring.place()), pipe_of(channel)) {
  entry->ring = view.ring;
  entry->channel = view.channel;
  entry->overrun.store(0);
  entry->tail_hint.store(0);
  entry->head_hint.store(0);
  entry->claim_seen.store(0);
  entry->claim_seen_at.store(0);
  entry->armed.store(0);
  verbs.channel = channel;
  verbs.cqe = static_cast<int>(view.depth);
  verbs.handle = index.get();
}

ibv_cq* ShmDevice::create_cq(int depth, ibv_comp_channel* channel) {
  check_completion_queue("shm", depth);
  auto queue = std::make_unique<CompletionQueue>(own_, static_cast<std::uint32_t>(depth), channel);
  queue->verbs.context = &context_;
  if (agent_.adversary()) queue->claim_patience = {};
  const std::scoped_lock lock(mutex_);
  if (channel != nullptr) from_verbs(channel).add(*queue);
  try {
    completion_queues_.push_back(queue.get());
  } catch (...) {
    if (channel != nullptr) from_verbs(channel).remove(*queue);
    throw;
  }
  if (channel != nullptr) ++from_verbs(channel).users;
  return &queue.release()->verbs;
}

void ShmDevice::destroy_cq(ibv_cq* raw) noexcept {
  const std::scoped_lock lock(mutex_);
  auto* queue = reinterpret_cast<CompletionQueue*>(raw);
  std::erase(completion_queues_, queue);
  // Nobody waits in a forked child, and the mutex may be that of a thread that only the parent has.
  if (raw->channel != nullptr && !abandoned_.load(std::memory_order_relaxed)) {
    from_verbs(raw->channel).remove(*queue);
  }
  let_go(raw);
}

ReceiveQueueView set_up(ReceiveQueueEntry& entry, const RingLease& ring, std::uint32_t max_sge,
                        std::uint32_t pd, bool shared) noexcept {
  entry.ring = ring.place();
  entry.max_sge = max_sge;
  entry.pd = pd;
  entry.shared = shared ? 1 : 0;
  entry.tail_hint.store(0);
  entry.head_hint.store(0);
  return {entry, ring.place(), max_sge, pd, shared};
}

SharedReceiveQueue::SharedReceiveQueue(OwnSegment& own, std::uint32_t pd, std::uint32_t depth,
                                       std::uint32_t max_sge)
    : segment(&own.shared()),
      index(own.take_shared_receive_queue()),
      ring(own, kSlotsPerEntry * depth, receive_slot_size(max_sge)),
      view(set_up(segment->receive_queues[kMaxQueuePairs + index.get()], ring, max_sge, pd, true)),
      outstanding(ring.place(), depth) {
  verbs.handle = kMaxQueuePairs + index.get();
}

ibv_srq* ShmDevice::create_srq(ibv_pd* pd, ibv_srq_init_attr& attributes) {
  const auto& asked = attributes.attr;
  check_shared_receive_queue("shm", asked);
  auto queue = std::make_unique<SharedReceiveQueue>(own_, pd->handle, asked.max_wr,
                                                    std::max(asked.max_sge, 1u));
  queue->verbs.context = &context_;
  queue->verbs.pd = pd;
  const std::scoped_lock lock(mutex_);
  shared_receive_queues_.push_back(queue.get());
  return &queue.release()->verbs;
}

void ShmDevice::destroy_srq(ibv_srq* raw) noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase(shared_receive_queues_, reinterpret_cast<SharedReceiveQueue*>(raw));
  let_go(raw);
}

}  // namespace dtutils::shm
