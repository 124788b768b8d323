// SPDX-License-Identifier: MIT
// SrslServer: queues, and answers.
#include "srsl_server.hpp"

#include <algorithm>

#include "dsfabric/send_channel.hpp"
#include "dtutils/device_memory.hpp"
#include "space_core.hpp"

namespace locks::detail {

dsfabric::ProcessId SrslServer::process_of(PlaceNumber number) const {
  return fabric_.thread_of_rank(rank_of(number)).process;
}

bool SrslServer::gone(PlaceNumber number) const { return fabric_.failed(process_of(number)); }

bool SrslServer::admits(const Queue& queue, Mode mode) noexcept {
  if (queue.holder != 0) return false;
  return mode == Mode::kShared || queue.readers.empty();
}

Verdict SrslServer::admit(Queue& queue, const Waiter& waiter) {
  const Verdict verdict = queue.died ? Verdict::kOwnerDied : Verdict::kGranted;
  if (waiter.mode == Mode::kShared) {
    queue.readers.push_back(waiter.number);
  } else {
    queue.holder = waiter.number;
    queue.died = false;
  }
  return verdict;
}

void SrslServer::grant_next(Queue& queue, std::vector<Grant>& grants) {
  while (!queue.waiting.empty() && admits(queue, queue.waiting.front().mode)) {
    const Waiter waiter = queue.waiting.front();
    queue.waiting.pop_front();
    grants.push_back({waiter.number, admit(queue, waiter)});
  }
}

void SrslServer::forget_if_free(std::uint64_t lock) {
  const auto found = queues_.find(lock);
  if (found == queues_.end()) return;
  const Queue& queue = found->second;
  if (queue.holder == 0 && queue.readers.empty() && queue.waiting.empty() && !queue.died) {
    queues_.erase(found);
  }
}

void SrslServer::request(const SrslRequest& request) {
  std::vector<Grant> grants;
  {
    const std::scoped_lock lock(mutex_);
    // What a process has sent before it failed may be run after remove_dead.
    if (gone(request.number)) return;
    if (closed_) {
      grants.push_back({request.number, Verdict::kHomeGone});
    } else {
      Queue& queue = queues_[request.lock];
      queue.waiting.push_back({request.number, request.mode});
      grant_next(queue, grants);
    }
  }
  send(grants);
}

std::uint32_t SrslServer::try_request(const SrslRequest& request) {
  const std::scoped_lock lock(mutex_);
  if (gone(request.number)) return kRefused;
  if (closed_) return static_cast<std::uint32_t>(Verdict::kHomeGone);
  Queue& queue = queues_[request.lock];
  if (!queue.waiting.empty() || !admits(queue, request.mode)) return kRefused;
  return static_cast<std::uint32_t>(admit(queue, {request.number, request.mode}));
}

void SrslServer::release(const SrslRequest& request) {
  std::vector<Grant> grants;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = queues_.find(request.lock);
    if (found == queues_.end()) return;
    Queue& queue = found->second;
    if (queue.holder == request.number) queue.holder = 0;
    std::erase(queue.readers, request.number);
    grant_next(queue, grants);
    forget_if_free(request.lock);
  }
  send(grants);
}

void SrslServer::remove_dead(std::span<const std::uint16_t> dead) {
  const auto died = [&](PlaceNumber number) {
    return std::ranges::find(dead, process_of(number).value) != dead.end();
  };
  std::vector<Grant> grants;
  {
    const std::scoped_lock lock(mutex_);
    std::vector<std::uint64_t> all;
    for (auto& [lock_address, queue] : queues_) {
      all.push_back(lock_address);
      if (queue.holder != 0 && died(queue.holder)) {
        queue.holder = 0;
        queue.died = true;
      }
      std::erase_if(queue.readers, died);
      std::erase_if(queue.waiting, [&](const Waiter& waiter) { return died(waiter.number); });
      grant_next(queue, grants);
    }
    for (const std::uint64_t lock_address : all) forget_if_free(lock_address);
  }
  send(grants);
}

void SrslServer::close() {
  std::vector<Grant> refused;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    for (const auto& [lock_address, queue] : queues_) {
      for (const Waiter& waiter : queue.waiting) {
        if (!gone(waiter.number)) refused.push_back({waiter.number, Verdict::kHomeGone});
      }
    }
    queues_.clear();
  }
  send(refused);
}

void SrslServer::refuse(dsfabric::Fabric& fabric, std::uint32_t space, PlaceNumber number) {
  send(fabric, space, {number, Verdict::kHomeGone});
}

void SrslServer::send(const std::vector<Grant>& grants) {
  for (const Grant& grant : grants) send(fabric_, space_, grant);
}

void SrslServer::send(dsfabric::Fabric& fabric, std::uint32_t space, const Grant& grant) {
  const auto tell = [space, grant](dsfabric::CallContext& call) {
    const std::shared_ptr<SpaceCore> core = SpaceCore::find(call.fabric, space);
    if (!core || call.worker == nullptr) return;
    Place& place = core->places_of(call.worker->id().index)[slot_of(grant.number)];
    dtutils::store_device_word(&place.granted,
                               pair_word(static_cast<std::uint32_t>(grant.verdict), 0));
  };
  dsfabric::SendChannel calls(fabric);
  // When it is gone, remove_dead comes by once more.
  (void)calls.call(fabric.thread_of_rank(rank_of(grant.number)), tell);
}

}  // namespace locks::detail
