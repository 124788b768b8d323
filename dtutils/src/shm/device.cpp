// SPDX-License-Identifier: MIT
// Opening the shm device, its domains, completion queues and channels, and what a fork does to it.
#include "shm/device.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "dtutils/error.hpp"
#include "host_id.hpp"
#include "shm/send_lock.hpp"
#include "software/describe.hpp"

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

/// Never destroyed, since devices may outlive every static object.
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

// The locks are held across a fork, so that the child finds the lists whole.
void before_fork() {
  registry().mutex.lock();
  for (ShmDevice* each : registry().devices) each->lock_for_fork();
}

void after_fork_in_parent() {
  for (ShmDevice* each : registry().devices) each->unlock_after_fork();
  registry().mutex.unlock();
}

void after_fork_in_child() {
  for (ShmDevice* each : registry().devices) {
    each->abandon_in_child();
    each->unlock_after_fork();
  }
  registry().devices.clear();
  registry().mutex.unlock();
}

void register_for_fork(ShmDevice* device) {
  static const int code = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  if (code != 0) throw Error("shm", "pthread_atfork failed", "free some memory", code);
  const std::scoped_lock lock(registry().mutex);
  registry().devices.push_back(device);
}

void unregister_for_fork(ShmDevice* device) {
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
    : pid_(getpid()), agent_(own_, chosen_adversary(options)) {
  software::describe_device("shm", DeviceKind::kShm, verbs_device_, context_, info_);
  set_operations(context_);
  info_.gid = to_gid(own_.address());
  info_.max_queue_pairs = kMaxQueuePairs;
  info_.reads_in_order = !agent_.adversary();
  info_.host = host_id();
  info_.reason = "shared memory of this host, no network adapter involved";
  if (agent_.adversary()) {
    info_.reason +=
        "; adversarial mode, repeat with CARIAMA_SHM_ADVERSARY=" + to_string(*agent_.adversary());
  }
  register_for_fork(this);
}

ShmDevice::~ShmDevice() {
  if (!in_child()) unregister_for_fork(this);
}

bool ShmDevice::in_child() const noexcept { return getpid() != pid_; }

void ShmDevice::lock_for_fork() {
  mutex_.lock();
  agent_.lock_for_fork();
  own_.lock_for_fork();
}

void ShmDevice::unlock_after_fork() {
  own_.unlock_after_fork();
  agent_.unlock_after_fork();
  mutex_.unlock();
}

void ShmDevice::abandon_in_child() noexcept {
  abandoned_.store(true, std::memory_order_relaxed);
  agent_.abandon_in_child();
  own_.abandon_in_child();
  for (CompletionQueue* queue : completion_queues_) queue->forked.store(true);
  for (SharedReceiveQueue* queue : shared_receive_queues_) queue->forked.store(true);
}

ibv_pd* ShmDevice::alloc_pd() {
  auto pd = std::make_unique<ibv_pd>();
  const std::scoped_lock lock(mutex_);
  pd->context = &context_;
  pd->handle = ++next_pd_;
  return pd.release();
}

void ShmDevice::dealloc_pd(ibv_pd* pd) noexcept { delete pd; }

}  // namespace shm
}  // namespace dtutils
