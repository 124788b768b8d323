// SPDX-License-Identifier: MIT
// Who caches which segment, and how the home tells them of new versions.
#include <algorithm>

#include "dtutils/synchronizer.hpp"
#include "dtutils/wait.hpp"
#include "locked.hpp"

namespace memory::detail {

void Home::push(const std::vector<Subscriber>& to, std::uint64_t version) noexcept {
  dtutils::Synchronizer arrived(0);
  for (const Subscriber& each : to) {
    arrived.expect(1);
    const dtutils::RemoteMemoryLocator word{each.address, kWord, each.rkey, each.process, 0};
    (void)fabric_.transmitter({each.process})
        .write({&version, kWord, 0}, word, {arrived, dtutils::kInlined});
  }
  dtutils::Backoff backoff;
  while (!arrived.done()) {
    bool busy = false;
    for (const Subscriber& each : to) busy |= fabric_.transmitter({each.process}).progress();
    busy ? backoff.reset() : backoff.pause();
  }
  if (arrived.failures() == 0) return;
  // Who cannot be told is given up before a write is answered of which it does not know.
  for (const Subscriber& each : to) {
    if (fabric_.transmitter({each.process}).broken()) {
      fabric_.fail({each.process}, "it cannot be told of new versions");
    }
  }
}

void Home::tell_subscribers(const Place& place, std::uint64_t version) noexcept {
  std::vector<Subscriber> to;
  {
    const std::scoped_lock lock(subscribers_mutex_);
    const auto found = subscribers_.find(place.place);
    if (found != subscribers_.end()) to = found->second;
  }
  // Until they have it: the write is not answered before.
  push(to, version);
}

Answer Home::subscribe(const Place& place, const Subscriber& subscriber) {
  Status status;
  const auto segment = find(place, status);
  if (!segment) return {0, status};
  Locked locked(*this, *segment, place);
  if (!locked) return {0, Status::kAgain};
  const Head head = segment->head();
  if (status = head.judge(place); status != Status::kDone) return {0, status};
  {
    const std::scoped_lock lock(subscribers_mutex_);
    // Asked under the lock that repair_after takes: either it sees the entry, or this the failure.
    if (fabric_.failed({subscriber.process})) return {0, Status::kHomeFailed};
    std::vector<Subscriber>& its = subscribers_[place.place];
    if (std::find(its.begin(), its.end(), subscriber) == its.end()) its.push_back(subscriber);
  }
  if ((locked.before() & kSubscribed) == 0) locked.set(kSubscribed);
  push({subscriber}, head.version);
  return {head.version, Status::kDone};
}

Answer Home::unsubscribe(const Place& place, const Subscriber& subscriber) {
  Status status;
  const auto segment = find(place, status);
  if (!segment) return {0, status};
  Locked locked(*this, *segment, place);
  if (!locked) return {0, Status::kAgain};
  if (generation_of(segment->version()) != place.generation()) return {0, Status::kFreed};
  const std::scoped_lock lock(subscribers_mutex_);
  const auto found = subscribers_.find(place.place);
  if (found == subscribers_.end()) return {};
  std::erase(found->second, subscriber);
  if (!found->second.empty()) return {};
  subscribers_.erase(found);
  if ((locked.before() & kSubscribed) != 0) locked.drop(kSubscribed);
  return {};
}

}  // namespace memory::detail
