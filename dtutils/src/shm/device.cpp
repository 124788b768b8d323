// SPDX-License-Identifier: MIT
// Opening the shm device, its domains, completion queues and channels, and what a fork does to it.
#include "shm/device.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "dtutils/error.hpp"
#include "host_id.hpp"
#include "shm/send_lock.hpp"

namespace dtutils {

std::unique_ptr<Device> open_shm_device(const DeviceOptions& options) {
  return std::make_unique<shm::ShmDevice>(options);
}

namespace shm {
namespace {

/// The open devices of this process, for the handler that runs in a forked child.
struct Registry {
  std::mutex mutex;
  std::vector<ShmDevice*> devices;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

void enter(ShmDevice* device) {
  // The lock is held across a fork, so that the child finds the list whole.
  static const int once =
      pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); },
                     [] {
                       for (ShmDevice* each : registry().devices) {
                         each->abandon_in_child();
                       }
                       registry().devices.clear();
                       registry().mutex.unlock();
                     });
  if (once != 0) throw Error("shm", "pthread_atfork failed", "free some memory", once);
  const std::scoped_lock lock(registry().mutex);
  registry().devices.push_back(device);
}

void leave(ShmDevice* device) {
  const std::scoped_lock lock(registry().mutex);
  std::erase(registry().devices, device);
}

std::optional<Adversary> chosen_adversary(const DeviceOptions& options) {
  if (options.adversary) return options.adversary;
  const char* text = std::getenv("CARIAMA_SHM_ADVERSARY");
  return text == nullptr ? std::nullopt : parse_adversary(text);
}

}  // namespace

ShmDevice::ShmDevice(const DeviceOptions& options)
    : pid_(getpid()),
      agent_(own_, chosen_adversary(options)),
      region_generations_(kMaxRegions),
      queue_pair_generations_(kMaxQueuePairs) {
  std::strcpy(verbs_device_.name, "shm");
  context_.device = &verbs_device_;
  context_.cmd_fd = -1;
  context_.async_fd = -1;
  set_operations(context_);
  info_.name = "shm";
  info_.kind = DeviceKind::kShm;
  info_.port = 1;
  info_.gid = to_gid(own_.address());
  info_.mtu = IBV_MTU_4096;
  info_.link_layer = IBV_LINK_LAYER_UNSPECIFIED;
  info_.max_work_requests = kMaxDepth;
  info_.max_scatter_gather = kMaxScatterGather;
  info_.max_inline = kMaxInline;
  info_.max_completions = kMaxDepth * 2;
  info_.atomics = true;
  info_.atomics_with_cpu = true;
  info_.host = host_id();
  info_.reason = "shared memory of this host, no network adapter involved";
  if (agent_.adversary()) {
    info_.reason +=
        "; adversarial mode, repeat with CARIAMA_SHM_ADVERSARY=" + to_string(*agent_.adversary());
  }
  enter(this);
}

ShmDevice::~ShmDevice() {
  if (!in_child()) leave(this);
}

bool ShmDevice::in_child() const noexcept { return getpid() != pid_; }

void ShmDevice::abandon_in_child() noexcept {
  agent_.abandon_in_child();
  for (CompletionQueue* queue : completion_queues_) queue->forked.store(true);
}

ibv_pd* ShmDevice::alloc_pd() {
  auto pd = std::make_unique<ibv_pd>();
  const std::scoped_lock lock(mutex_);
  pd->context = &context_;
  pd->handle = ++next_pd_;
  return pd.release();
}

void ShmDevice::dealloc_pd(ibv_pd* pd) noexcept { delete pd; }

ibv_comp_channel* ShmDevice::create_comp_channel() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw Error("shm", "no pipe for a completion channel", "raise `ulimit -n`", errno);
  }
  auto channel = std::make_unique<Channel>();
  const std::scoped_lock lock(mutex_);
  channel->verbs.context = &context_;
  channel->verbs.fd = ends[0];
  channel->pipe = {ends[1], ++next_channel_};
  return &channel.release()->verbs;
}

void ShmDevice::destroy_comp_channel(ibv_comp_channel* raw) noexcept {
  auto* channel = reinterpret_cast<Channel*>(raw);
  close(channel->verbs.fd);
  close(channel->pipe.fd);
  delete channel;
}

ibv_cq* ShmDevice::wait_event(ibv_comp_channel* channel, std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd waiting{channel->fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (ready == 0) return nullptr;
    if (ready < 0 && errno != EINTR) {
      throw Error("shm completion channel", "poll failed", "check that it is still open", errno);
    }
    std::uint32_t index;
    if (ready < 0 || read(channel->fd, &index, sizeof index) != sizeof index) continue;
    const std::scoped_lock lock(mutex_);
    for (CompletionQueue* queue : completion_queues_) {
      if (agent_.index_of(*queue->entry) == index) return &queue->verbs;
    }
  }
}

ibv_cq* ShmDevice::create_cq(int depth, ibv_comp_channel* channel) {
  if (depth < 1 || static_cast<std::uint32_t>(depth) > info_.max_completions) {
    throw Error("shm completion queue", fmt::format("a depth of {} was asked for", depth),
                fmt::format("ask for 1 to {}", info_.max_completions), EINVAL);
  }
  auto queue = std::make_unique<CompletionQueue>();
  const std::uint32_t index = own_.take_completion_queue();
  queue->segment = &own_.shared();
  queue->entry = &own_.shared().completion_queues[index];
  CompletionQueueEntry& entry = *queue->entry;
  try {
    entry.ring = own_.allocate_ring(static_cast<std::uint32_t>(depth), sizeof(CompletionSlot));
  } catch (...) {
    own_.give_completion_queue(index);
    throw;
  }
  entry.channel = {-1, 0};
  if (channel != nullptr) entry.channel = reinterpret_cast<Channel*>(channel)->pipe;
  entry.overrun.store(0);
  entry.tail_hint.store(0);
  entry.head_hint.store(0);
  entry.armed.store(0);
  queue->verbs.context = &context_;
  queue->verbs.channel = channel;
  queue->verbs.cqe = static_cast<int>(entry.ring.capacity());
  queue->verbs.handle = index;
  const std::scoped_lock lock(mutex_);
  completion_queues_.push_back(queue.get());
  return &queue.release()->verbs;
}

void ShmDevice::destroy_cq(ibv_cq* raw) noexcept {
  auto* queue = reinterpret_cast<CompletionQueue*>(raw);
  if (!in_child()) {
    {
      const std::scoped_lock lock(mutex_);
      std::erase(completion_queues_, queue);
    }
    own_.free_ring(queue->entry->ring);
    own_.give_completion_queue(agent_.index_of(*queue->entry));
  }
  delete queue;
}

ibv_srq* ShmDevice::create_srq(ibv_pd* pd, ibv_srq_init_attr& attributes) {
  const auto& asked = attributes.attr;
  if (asked.max_wr < 1 || asked.max_wr > kMaxDepth || asked.max_sge > kMaxScatterGather) {
    throw Error(
        "shm shared receive queue",
        fmt::format("{} receives of {} elements were asked for", asked.max_wr, asked.max_sge),
        fmt::format("ask for 1 to {} receives of at most {} elements", kMaxDepth,
                    kMaxScatterGather),
        EINVAL);
  }
  auto queue = std::make_unique<SharedReceiveQueue>();
  const std::uint32_t index = own_.take_shared_receive_queue();
  queue->segment = &own_.shared();
  queue->entry = &own_.shared().receive_queues[kMaxQueuePairs + index];
  ReceiveQueueEntry& entry = *queue->entry;
  entry.max_sge = std::max(asked.max_sge, 1u);
  entry.pd = pd->handle;
  try {
    entry.ring = own_.allocate_ring(
        asked.max_wr, static_cast<std::uint32_t>(sizeof(ReceiveSlot) +
                                                 entry.max_sge * sizeof(ReceiveSlot::Element)));
  } catch (...) {
    own_.give_shared_receive_queue(index);
    throw;
  }
  entry.tail_hint.store(0);
  entry.head_hint.store(0);
  attributes.attr.max_wr = static_cast<std::uint32_t>(entry.ring.capacity());
  queue->verbs.context = &context_;
  queue->verbs.pd = pd;
  queue->verbs.handle = kMaxQueuePairs + index;
  return &queue.release()->verbs;
}

void ShmDevice::destroy_srq(ibv_srq* raw) noexcept {
  auto* queue = reinterpret_cast<SharedReceiveQueue*>(raw);
  if (!in_child()) {
    own_.free_ring(queue->entry->ring);
    own_.give_shared_receive_queue(queue->verbs.handle - kMaxQueuePairs);
  }
  delete queue;
}

}  // namespace shm
}  // namespace dtutils
