// SPDX-License-Identifier: MIT
// Client: its parts, and gets.
#include "sharing/client.hpp"

#include <cstring>

#include "control.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dtutils/clock.hpp"
#include "host_cache.hpp"

namespace sharing {

using detail::HostCache;

namespace {

/// What the host has of a datum, when that may be given now: then it may as long as it is
/// unchanged and, with kTemporal, young, and with kDelta, the host is reached.
template <class Now>
inline detail::SeenCopy look(const HostCache& host, const Datum& datum, Now now) noexcept {
  detail::SeenCopy seen = host.look_for(datum);
  const Coherence coherence = datum.model.coherence;
  if (coherence >= Coherence::kRead) return seen;
  const HostCache::Pushed& words = host.words(datum);
  // Acquire: the version that was there when this host subscribed came before.
  const bool subscribed = detail::load_shared(words.subscribed, std::memory_order_acquire) ==
                          HostCache::identity_of(datum);
  seen.pushed_then = dtutils::load_device_word(&words.version);
  if (!host.see(datum, seen)) return seen;
  std::uint64_t newest = 0;
  const bool fresh = coherence == Coherence::kNull ||
                     (coherence == Coherence::kTemporal && seen.is_young(datum.model.age, now())) ||
                     (coherence == Coherence::kDelta && subscribed && host.reached() &&
                      HostCache::version_of(seen.pushed_then, datum, newest) &&
                      seen.version + datum.model.versions >= newest);
  if (!fresh) seen.sequence_then = detail::SeenCopy::kNone;
  return seen;
}

}  // namespace

const char* to_string(Status status) noexcept {
  switch (status) {
    case Status::kDone:
      return "it was done";
    case Status::kBusy:
      return "somebody whom the model excludes is at work";
    case Status::kFreed:
      return "the data were freed";
    case Status::kWrongSize:
      return "the data have another size";
    case Status::kDamaged:
      return "a process died in the middle of a put";
    case Status::kHomeFailed:
      return "the process that has the data is gone";
  }
  return "an unknown status";
}

Client::Client(dsfabric::Thread& self, Space& space)
    : self_(self),
      space_(space),
      client_(space.memory()),
      locks_(self, {.locks = 2 * space.options().data}),
      channel_(space.fabric()),
      words_(space.fabric().general_allocator().allocate(64)) {
  std::memset(words_.data(), 0, words_.size());
  words_.data()[detail::kOneAt] = std::byte{1};
}

Client::~Client() {
  // What nobody waits for uses its memory.
  for (std::uint16_t i = 0; i < space_.fabric().founders(); ++i) {
    (void)self_.transmitter({i}).flush(std::chrono::seconds(1));
  }
}

std::chrono::nanoseconds Client::now() const noexcept {
  const auto clock = space_.options().clock;
  return clock != nullptr ? clock() : dtutils::Clock::now().time_since_epoch();
}

detail::SeenCopy Client::see(const Datum& datum) const {
  return look(space_.host(), datum, [this] { return now(); });
}

bool Client::copy_from_host(const Datum& datum, std::span<std::byte> into, std::uint64_t& version) {
  const detail::SeenCopy seen = look(space_.host(), datum, [this] { return now(); });
  if (seen.sequence_then == detail::SeenCopy::kNone || !seen.copy(into.data(), into.size())) {
    return false;
  }
  version = seen.version;
  return true;
}

Status Client::get(const Datum& datum, std::span<std::byte> into, std::uint64_t* version,
                   Wait wait) {
  if (into.size() != datum.bytes || into.empty()) return Status::kWrongSize;
  std::uint64_t found = 0;
  std::uint64_t& its = version != nullptr ? *version : found;
  if (copy_from_host(datum, into, its)) {
    ++counters_.hits;
    return Status::kDone;
  }
  ++counters_.fetches;
  try {
    if (datum.model.coherence >= Coherence::kRead) return get_excluding(datum, into, its, wait);
    // Of what is not kept the host need not hear.
    if (datum.model.coherence == Coherence::kDelta &&
        datum.bytes <= space_.options().cached_bytes) {
      subscribe(datum);
    }
    // Before the bytes are fetched, so that their age is never taken for less than it is.
    const std::chrono::nanoseconds time = now();
    const Status status = fetch(datum, into, its);
    if (status == Status::kDone) space_.host().keep(datum, into, its, time);
    return status;
  } catch (const dsfabric::PeerFailed&) {
    return Status::kHomeFailed;
  }
}

Status Client::get_excluding(const Datum& datum, std::span<std::byte> into, std::uint64_t& version,
                             Wait wait) {
  const bool shared = datum.model.coherence == Coherence::kWrite;
  Mutex mutex(locks_, lock_of(datum, datum.model.coherence == Coherence::kRead));
  if (wait == Wait::kWait) {
    shared ? mutex.lock_shared() : mutex.lock();
  } else if (!(shared ? mutex.try_lock_shared() : mutex.try_lock())) {
    return Status::kBusy;
  }
  Status status = fetch(datum, into, version);
  if (mutex.owner_died() && detail::is_plain(datum) && status == Status::kDone) {
    // The next one will not hear of it from an exclusive lock.
    status = shared ? Status::kDamaged : mark_damaged(datum);
  }
  shared ? mutex.unlock_shared() : mutex.unlock();
  return status;
}

Status Client::fetch(const Datum& datum, std::span<std::byte> into, std::uint64_t& version) {
  const bool plain = detail::is_plain(datum);
  const std::size_t before = plain ? detail::kControlBytes - detail::kVersionAt : detail::kWord;
  versioned_.resize(before + into.size());
  const auto at = memory::GlobalPtr<std::byte>(plain ? datum.control : datum.data) +
                  (plain ? detail::kVersionAt : 0);
  const Status status = detail::status_of(client_.read(at, std::span(versioned_)));
  if (status != Status::kDone) return status;
  std::memcpy(&version, versioned_.data(), sizeof version);
  std::memcpy(into.data(), versioned_.data() + before, into.size());
  std::uint64_t damaged = 0;
  if (plain) std::memcpy(&damaged, versioned_.data() + detail::kWord, sizeof damaged);
  return damaged != 0 ? Status::kDamaged : Status::kDone;
}

}  // namespace sharing
