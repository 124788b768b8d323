// SPDX-License-Identifier: MIT
// Client: puts, and how hosts come to know of them.
#include <algorithm>
#include <array>
#include <cstring>

#include "control.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dtutils/device_memory.hpp"
#include "host_cache.hpp"
#include "sharing/client.hpp"

namespace sharing {

using detail::HostCache;
using Bytes = memory::GlobalPtr<std::byte>;

locks::LockId Client::lock_of(const Datum& datum, bool of_readers) const noexcept {
  return {datum.home(), 2 * datum.index + (of_readers ? 1 : 0)};
}

std::byte* Client::stage(std::uint64_t bytes) {
  if (!staged_ || staged_.size() < bytes) {
    staged_ = space_.fabric().general_allocator().allocate(bytes);
  }
  return staged_.data();
}

Status Client::put(const Datum& datum, std::span<const std::byte> from, Wait wait) {
  if (from.size() != datum.bytes || from.empty()) return Status::kWrongSize;
  if (datum.model.coherence == Coherence::kNull) return put_null(datum, from);
  try {
    Mutex mutex(locks_, lock_of(datum, false));
    if (wait == Wait::kWait) {
      mutex.lock();
    } else if (!mutex.try_lock()) {
      return Status::kBusy;
    }
    return put_and_unlock(datum, from, mutex);
  } catch (const dsfabric::PeerFailed&) {
    return Status::kHomeFailed;
  }
}

Status Client::put_held(const Datum& datum, std::span<const std::byte> from) {
  return detail::is_plain(datum) ? put_plain(datum, from) : put_versioned(datum, from);
}

Status Client::put_and_unlock(const Datum& datum, std::span<const std::byte> from, Mutex& mutex) {
  dtutils::Transmitter& to = self_.transmitter(datum.home());
  const auto where = client_.locate(Bytes(datum.control));
  const std::uint64_t bytes = detail::kWord + from.size();
  std::array<std::byte, dtutils::kInline> small;
  if (!detail::is_plain(datum) ||
      bytes > std::min(dtutils::kInline, to.queue_pair().max_inline()) ||
      where.length < detail::kDamagedAt + bytes) {
    const Status status = put_held(datum, from);
    mutex.unlock();
    return status;
  }
  std::memset(small.data(), 0, detail::kWord);
  std::memcpy(small.data() + detail::kWord, from.data(), from.size());
  // Nobody waits for these: the unlock follows them. What fails breaks the connection for it, too.
  (void)to.fetch_and_add(words_.local(detail::kSinkAt, detail::kWord),
                         where.part(detail::kVersionAt, detail::kWord), 1);
  (void)to.write({small.data(), static_cast<std::uint32_t>(bytes), 0},
                 where.part(detail::kDamagedAt, bytes), dtutils::kInlined);
  return mutex.unlock_behind() ? Status::kDone : Status::kHomeFailed;
}

Status Client::put_null(const Datum& datum, std::span<const std::byte> from) {
  dtutils::Transmitter& to = self_.transmitter(datum.home());
  std::memcpy(stage(from.size()), from.data(), from.size());
  const auto where = client_.locate(Bytes(datum.control) + detail::kControlBytes);
  if (where.length < from.size()) return Status::kFreed;
  dtutils::Synchronizer done(1);
  // A post that fails has failed `done`.
  (void)to.write(staged_.local(0, static_cast<std::uint32_t>(from.size())),
                 where.part(0, from.size()), done);
  return to.wait(done) == dtutils::Synchronizer::Outcome::kDone ? Status::kDone
                                                                : Status::kHomeFailed;
}

Status Client::put_plain(const Datum& datum, std::span<const std::byte> from) {
  dtutils::Transmitter& to = self_.transmitter(datum.home());
  const auto where = client_.locate(Bytes(datum.control));
  const std::uint64_t bytes = detail::kWord + from.size();
  if (where.length < detail::kDamagedAt + bytes) return Status::kFreed;
  std::byte* const staged = stage(bytes);
  std::memset(staged, 0, detail::kWord);
  std::memcpy(staged + detail::kWord, from.data(), from.size());
  // A holder that finds the next one waiting hands the lock over by a write into the memory of that
  // one, which may arrive before these have come to the home: so this waits for them.
  dtutils::Synchronizer done(1);
  const bool posted = to.fetch_and_add(words_.local(detail::kSinkAt, detail::kWord),
                                       where.part(detail::kVersionAt, detail::kWord), 1) &&
                      to.write(staged_.local(0, static_cast<std::uint32_t>(bytes)),
                               where.part(detail::kDamagedAt, bytes), done);
  // A post that fails has failed `done`; the first of them may have been the one.
  return posted && to.wait(done) == dtutils::Synchronizer::Outcome::kDone ? Status::kDone
                                                                          : Status::kHomeFailed;
}

Status Client::mark_damaged(const Datum& datum) {
  const auto where = client_.locate(Bytes(datum.control));
  dtutils::Transmitter& to = self_.transmitter(datum.home());
  dtutils::Synchronizer done(1);
  (void)to.write(words_.local(detail::kOneAt, detail::kWord),
                 where.part(detail::kDamagedAt, detail::kWord), done);
  (void)to.wait(done);
  return Status::kDamaged;
}

Status Client::put_versioned(const Datum& datum, std::span<const std::byte> from) {
  detail::Control control{};
  Status status =
      detail::status_of(client_.read(memory::GlobalPtr<detail::Control>(datum.control), control));
  if (status != Status::kDone) return status;
  const std::uint64_t version = control.version + 1;
  // First, so that who dies in between leaves a number that is not used, and not one used twice.
  status = detail::status_of(
      client_.write(Bytes(datum.control).part<std::uint64_t>(detail::kVersionAt), version));
  if (status != Status::kDone) return status;
  versioned_.resize(detail::kWord + from.size());
  std::memcpy(versioned_.data(), &version, sizeof version);
  std::memcpy(versioned_.data() + detail::kWord, from.data(), from.size());
  status =
      detail::status_of(client_.write(Bytes(datum.data), std::span<const std::byte>(versioned_),
                                      {.mode = memory::WriteMode::kOneSided}));
  if (status == Status::kDone) push(datum, control.hosts, version);
  return status;
}

void Client::push(const Datum& datum, std::uint64_t hosts, std::uint64_t version) {
  HostCache& host = space_.host();
  const std::uint64_t word = HostCache::word_of(datum, version);
  dtutils::store_device_word(reinterpret_cast<std::uint64_t*>(words_.data() + detail::kPushedAt),
                             word);
  for (unsigned number = 0; hosts >> number != 0 && number < host.hosts(); ++number) {
    if ((hosts >> number & 1) == 0) continue;
    if (number == host.host() && host.reached()) {
      host.push_here(datum, version);
      continue;
    }
    // A host whose leader is gone does not believe its cache any more, once it knows.
    if (space_.fabric().failed(host.leader_of(number))) continue;
    dtutils::Transmitter& to = self_.transmitter(host.leader_of(number));
    dtutils::Synchronizer done(1);
    (void)to.write(words_.local(detail::kPushedAt, detail::kWord), host.pushed(number, datum),
                   done);
    (void)to.wait(done);
  }
}

void Client::subscribe(const Datum& datum) {
  HostCache& host = space_.host();
  if (!host.reached()) return;
  HostCache::Pushed& words = host.words(datum);
  std::uint64_t told = dtutils::load_device_word(&words.version);
  std::atomic_ref subscribed(words.subscribed);
  if (subscribed.load(std::memory_order_relaxed) == HostCache::identity_of(datum)) return;
  // No put takes place meanwhile: each one pushes its version here, or is counted already.
  Mutex mutex(locks_, lock_of(datum, false));
  mutex.lock_shared();
  detail::Control control{};
  const std::uint64_t mine = std::uint64_t{1} << host.host();
  memory::Status status = client_.read(memory::GlobalPtr<detail::Control>(datum.control), control);
  std::uint64_t before = control.hosts;
  while (status == memory::Status::kDone && (before & mine) == 0) {
    const std::uint64_t expected = before;
    status = client_.compare_and_swap(Bytes(datum.control).part<std::uint64_t>(0), expected,
                                      expected | mine, before);
    if (before == expected) break;
  }
  // When it has changed, another process was faster, or this one was stopped and given up
  // meanwhile, and has no lock any more.
  const std::uint64_t version = HostCache::word_of(datum, control.version);
  if (status == memory::Status::kDone &&
      std::atomic_ref(words.version).compare_exchange_strong(told, version)) {
    subscribed.store(HostCache::identity_of(datum), std::memory_order_release);
  }
  mutex.unlock_shared();
}

Hold::Hold(Client& client, const Datum& datum, As as)
    : client_(client),
      datum_(datum),
      as_(as),
      mutex_(client.locks_,
             client.lock_of(datum, as == kGet && datum.model.coherence == Coherence::kRead)) {
  const Coherence coherence = datum.model.coherence;
  if (coherence == Coherence::kNull || (as == kGet && coherence < Coherence::kRead)) return;
  shared_ = as == kGet && coherence == Coherence::kWrite;
  shared_ ? mutex_.lock_shared() : mutex_.lock();
  held_ = true;
  // An exclusive lock says so once.
  if (!shared_ && mutex_.owner_died() && detail::is_plain(datum)) (void)client.mark_damaged(datum);
}

Hold::~Hold() {
  if (held_) shared_ ? mutex_.unlock_shared() : mutex_.unlock();
}

Status Hold::get(std::span<std::byte> into, std::uint64_t* version) {
  if (into.size() != datum_.bytes || into.empty()) return Status::kWrongSize;
  std::uint64_t found = 0;
  const Status status = client_.fetch(datum_, into, version != nullptr ? *version : found);
  return status == Status::kDone && shared_ && mutex_.owner_died() ? Status::kDamaged : status;
}

Status Hold::put(std::span<const std::byte> from) {
  if (as_ != kPut) return Status::kBusy;
  if (from.size() != datum_.bytes || from.empty()) return Status::kWrongSize;
  return datum_.model.coherence == Coherence::kNull ? client_.put_null(datum_, from)
                                                    : client_.put_held(datum_, from);
}

}  // namespace sharing
