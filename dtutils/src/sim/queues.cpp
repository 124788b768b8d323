// SPDX-License-Identifier: MIT
// Queues of a simulated adapter: pushing, polling, and events on channels.
#include "sim/queues.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "dtutils/error.hpp"
#include "sim/queue_pair.hpp"

namespace dtutils::sim {
namespace {

/// To take one completion out of a queue.
constexpr std::chrono::nanoseconds kTake{15};

}  // namespace

Channel::Channel(World& its_world) : world(its_world), node(its_world.running_node()) {
  verbs.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  if (verbs.fd < 0) {
    throw Error("sim completion channel", "the kernel gives no descriptor",
                "raise the limit of open files (ulimit -n)", errno);
  }
}

Channel::~Channel() { close(verbs.fd); }

CompletionQueue* Channel::take() noexcept {
  if (events.empty()) return nullptr;
  CompletionQueue* const queue = events.front();
  events.pop();
  eventfd_t one;
  eventfd_read(verbs.fd, &one);
  return queue;
}

void Channel::forget(const CompletionQueue& queue) noexcept {
  const std::size_t before = events.size();
  events.remove([&](const CompletionQueue* each) { return each == &queue; });
  eventfd_t one;
  for (std::size_t i = events.size(); i < before; ++i) eventfd_read(verbs.fd, &one);
}

int CompletionQueue::arm(bool solicited_only) noexcept {
  if (World::current() != &world) return EPERM;
  if (channel == nullptr) return EINVAL;
  // Whoever waits for the next completion goes on doing so.
  if (!solicited_only || armed == 0) armed = solicited_only ? 2 : 1;
  return 0;
}

bool CompletionQueue::push(const Completion& completion, bool solicited) noexcept {
  if (completions.size() >= depth) overrun = true;
  if (!overrun) completions.push(completion);
  world.stir(node);
  const bool wanted =
      armed == 1 || (armed == 2 && (solicited || completion.work.status != IBV_WC_SUCCESS));
  if (wanted || (overrun && armed != 0)) {
    armed = 0;
    channel->events.push(this);
    eventfd_write(channel->verbs.fd, 1);
    world.stir_watchers(node);
  }
  return !overrun;
}

int CompletionQueue::poll(int count, ibv_wc* into) noexcept {
  if (World::current() != &world || overrun) return -1;
  int taken = 0;
  while (taken < count && !completions.empty()) {
    const Completion& completion = completions.front();
    into[taken++] = completion.work;
    if (completion.position != 0) {
      if (QueuePair* const pair = world.pair(completion.pair)) pair->retire(completion.position);
    }
    completions.pop();
  }
  if (taken != 0) {
    world.charge(taken * kTake);
    world.used_adapter();
    world.may_be_interrupted();
    return taken;
  }
  if (count > 0) world.polled_in_vain();
  return 0;
}

int ReceiveQueue::post(ibv_recv_wr* request, ibv_recv_wr** bad) noexcept {
  for (; request != nullptr; request = request->next) {
    *bad = request;
    if (request->num_sge < 0 || static_cast<std::uint32_t>(request->num_sge) > max_sge) {
      return EINVAL;
    }
    if (receives.size() >= depth) return ENOMEM;
    Receive& receive = receives.push();
    receive.id = request->wr_id;
    receive.elements.assign(request->sg_list, request->sg_list + request->num_sge);
  }
  return 0;
}

}  // namespace dtutils::sim
