// SPDX-License-Identifier: MIT
// Client: names and places, and gets.
#include "sharing/client.hpp"

#include <fmt/format.h>

#include <cstring>

#include "control.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dtutils/clock.hpp"
#include "dtutils/error.hpp"
#include "dtutils/fnv1a.hpp"
#include "host_cache.hpp"
#include "node.hpp"

namespace sharing {

using detail::HostCache;
using detail::NodeRequest;

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

detail::NodeAnswer Client::ask(dsfabric::ProcessId process, NodeRequest& request) {
  if (process == self_.id().process) return space_.node().run(request);
  request.node = space_.node().nodes[process.value];
  dsfabric::ReturnSlot<detail::NodeAnswer> slot(space_.fabric());
  const auto status = channel_.call_return(dsfabric::ThreadId::service_of(process), request, slot);
  if (status != dsfabric::CallStatus::kAccepted) {
    throw dsfabric::PeerFailed(process, "a request for shared data",
                               space_.fabric().failure_reason(process));
  }
  return slot.get();
}

dsfabric::ProcessId Client::keeper_of(std::string_view name) const noexcept {
  const std::uint64_t hash = dtutils::Fnv1a().text(name).value();
  return {static_cast<std::uint16_t>(hash % space_.fabric().founders())};
}

Datum Client::allocate(std::string_view name, std::uint32_t bytes, Model model,
                       memory::Placement placement) {
  const std::string what = fmt::format("the shared data \"{}\"", name);
  if (name.empty() || name.size() >= detail::kNameBytes ||
      name.find('\0') != std::string_view::npos) {
    throw dtutils::Error(what, "this is no name", "give 1 to 63 bytes without zeros");
  }
  if (bytes == 0 || bytes > detail::kBytesMost) {
    throw dtutils::Error(what, fmt::format("they cannot have {} bytes", bytes),
                         fmt::format("give 1 to {} bytes", detail::kBytesMost));
  }
  Datum datum;
  datum.model = model;
  const bool plain = detail::is_plain(datum);
  datum.control =
      client_.allocate(detail::kControlBytes + (plain ? bytes : 0), placement, memory::Kind::kPlain)
          .place();
  if (!plain) {
    datum.data = client_
                     .allocate(detail::kWord + bytes, memory::there(datum.control.home()),
                               memory::Kind::kVersioned)
                     .place();
  }
  const auto undo = [&] {
    (void)client_.free(memory::GlobalPtr<std::byte>(datum.control));
    if (!plain) (void)client_.free(memory::GlobalPtr<std::byte>(datum.data));
  };
  NodeRequest request;
  request.what = NodeRequest::What::kTakeIndex;
  const detail::NodeAnswer number = ask(datum.home(), request);
  if (!number.done) {
    undo();
    throw dtutils::Error(what, fmt::format("process {} has no number left", datum.home().value),
                         "raise SpaceOptions::data, or free what is not used");
  }
  datum.index = number.index;
  datum.bytes = bytes;
  request.what = NodeRequest::What::kClaim;
  request.datum = datum;
  std::memcpy(request.name.data(), name.data(), name.size());
  if (!ask(keeper_of(name), request).done) {
    undo();
    request.what = NodeRequest::What::kGiveIndex;
    request.index = datum.index;
    (void)ask(datum.home(), request);
    throw dtutils::Error(what, "the name is taken", "choose another name, or find() them");
  }
  return datum;
}

std::optional<Datum> Client::find(std::string_view name) {
  NodeRequest request;
  if (name.size() >= detail::kNameBytes) return std::nullopt;
  std::memcpy(request.name.data(), name.data(), name.size());
  const detail::NodeAnswer answer = ask(keeper_of(name), request);
  return answer.done ? std::optional(answer.datum) : std::nullopt;
}

Status Client::free(std::string_view name) {
  NodeRequest request;
  if (name.size() >= detail::kNameBytes) return Status::kFreed;
  request.what = NodeRequest::What::kForget;
  std::memcpy(request.name.data(), name.data(), name.size());
  const detail::NodeAnswer answer = ask(keeper_of(name), request);
  if (!answer.done) return Status::kFreed;
  const Datum& datum = answer.datum;
  Status status = detail::status_of(client_.free(memory::GlobalPtr<std::byte>(datum.control)));
  if (!detail::is_plain(datum) && status == Status::kDone) {
    status = detail::status_of(client_.free(memory::GlobalPtr<std::byte>(datum.data)));
  }
  if (status != Status::kDone) return status;
  request.what = NodeRequest::What::kGiveIndex;
  request.index = datum.index;
  (void)ask(datum.home(), request);
  return status;
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
