// SPDX-License-Identifier: MIT
// Groups: meeting, leaving, and being found.
#include "collectives/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "dsfabric/fabric.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dsfabric/send_space.hpp"
#include "dtutils/detail/scope_exit.hpp"
#include "dtutils/error.hpp"
#include "dtutils/fnv1a.hpp"
#include "dtutils/wait.hpp"
#include "threads/handler_rules.hpp"

namespace dsfabric {
namespace {

constexpr const char* kMaking = "making a Group";

/// The key of the whole job, and of a free entry.
constexpr std::uint64_t kWholeJob = 0;

/// Payload of a message of kind kGroup: where the sender's block of a group is.
struct BlockRecord {
  static constexpr std::uint8_t kFlags = 0;
  std::uint64_t key;
  dtutils::RemoteMemoryLocator block;
};

/// And that its collectives are over.
struct RevocationRecord {
  static constexpr std::uint8_t kFlags = 1;
  std::uint64_t key;
  Revocation why;
};

template <class Record>
bool read(const Incoming& message, Record& record) noexcept {
  static_assert(std::is_trivially_copyable_v<Record>);
  if (message.payload.size() != sizeof record) return false;
  std::memcpy(&record, message.payload.data(), sizeof record);
  return true;
}

/// False: the peer is gone.
template <class Record>
bool send(Fabric& fabric, ProcessId to, const Record& record) {
  SendSpace space(fabric, to, sizeof record);
  if (!space) return false;
  std::memcpy(space.payload(), &record, sizeof record);
  return space.commit(MessageKind::kGroup, ThreadId::service_of(to), nullptr, Record::kFlags);
}

}  // namespace

Groups::Groups(Fabric& fabric, const Members& members, dtutils::GeneralAllocator& memory,
               Connections& connections, Failures& failures, const OwnFailure& own_failure,
               MessageEngine& messages, Arrivals& arrivals, Collectives& of_all,
               std::chrono::milliseconds patience)
    : fabric_(fabric),
      members_(members),
      memory_(memory),
      connections_(connections),
      failures_(failures),
      own_failure_(own_failure),
      messages_(messages),
      arrivals_(arrivals),
      of_all_(of_all),
      patience_(patience) {
  of_all_.on_revoke(
      [this](const Revocation& why) { tell_partners(of_all_.participants(), kWholeJob, why); });
  messages.set_handler(MessageKind::kGroup, {[](void* self, const Incoming& message) {
                                               return static_cast<Groups*>(self)->handle(message);
                                             },
                                             this});
  failures_.on_failure([this](ProcessId failed, const std::string&) {
    const std::scoped_lock lock(mutex_);
    for (auto& [key, making] : making_) making.blocks.erase(failed);
    std::erase_if(making_, [](const auto& each) {
      const Making& making = each.second;
      return making.core == nullptr && making.blocks.empty() && !making.revoked;
    });
  });
}

bool Groups::handle(const Incoming& message) {
  switch (message.flags) {
    case BlockRecord::kFlags:
      return take_block(message);
    case RevocationRecord::kFlags:
      return take_revocation(message);
    default:
      return false;
  }
}

Collectives* Groups::collectives_of(std::uint64_t key) noexcept {
  if (key == kWholeJob) return &of_all_;
  GroupCore* const core = find(key);
  return core != nullptr ? &core->collectives : nullptr;
}

bool Groups::take_revocation(const Incoming& message) {
  RevocationRecord record;
  if (!read(message, record)) return false;
  const std::scoped_lock lock(mutex_);
  Collectives* const collectives = collectives_of(record.key);
  if (collectives == nullptr) {
    making_[record.key].revoked = record.why;
    return true;
  }
  const Participants& all = collectives->participants();
  if (!all.has(message.source.process) || !all.has(record.why.failed) || !all.has(record.why.by)) {
    return false;
  }
  collectives->wait().revoke(record.why);
  return true;
}

void Groups::tell_partners(const Participants& all, std::uint64_t key, const Revocation& why) {
  for (const std::uint32_t partner : Rounds::partners(all.self(), all.processes())) {
    // One that is gone needs not be told.
    (void)send(fabric_, all.process(partner), RevocationRecord{key, why});
  }
}

bool Groups::take_block(const Incoming& message) {
  BlockRecord record;
  if (!read(message, record)) return false;
  const std::scoped_lock lock(mutex_);
  making_[record.key].blocks[message.source.process] = record.block;
  return true;
}

std::uint64_t Groups::key_of(const ThreadContext& context, const std::vector<ThreadId>& workers) {
  dtutils::Fnv1a hash;
  hash.bytes(std::as_bytes(std::span(workers)));
  const std::scoped_lock lock(mutex_);
  const std::uint64_t number = made_[{context.number, hash.value()}]++;
  hash.bytes(std::as_bytes(std::span(&number, 1)));
  return std::max<std::uint64_t>(hash.value(), kWholeJob + 1);
}

std::pair<std::shared_ptr<GroupCore>, bool> Groups::enter(Participants participants,
                                                          std::uint64_t key) {
  const std::scoped_lock lock(mutex_);
  Making& making = making_[key];
  const bool first = making.core == nullptr;
  if (first) {
    auto core = std::make_shared<GroupCore>(std::move(participants), key, memory_, connections_,
                                            failures_, own_failure_, messages_, arrivals_);
    put(*core);
    core->collectives.wait().limit(patience_);
    if (making.revoked) core->collectives.wait().revoke(*making.revoked);
    core->collectives.on_revoke([this, &made = *core](const Revocation& why) {
      tell_partners(made.participants, made.key, why);
    });
    making.core = std::move(core);
  }
  ++making.core->users;
  return {making.core, first};
}

std::shared_ptr<GroupCore> Groups::make(ThreadContext& context, std::vector<ThreadId> workers) {
  if (context.in_handler) refuse_handlers(kMaking);
  Participants participants(members_, workers);
  if (participants.slot_of(context.number) == participants.here()) {
    throw dtutils::Error(kMaking, fmt::format("thread {} is no member", context.name),
                         "make a group on its members only");
  }
  const std::uint64_t key = key_of(context, workers);
  auto [core, first] = enter(std::move(participants), key);
  // Also when it throws: the last one of this process ends the making.
  const dtutils::detail::ScopeExit through([&, core = core.get()]() noexcept {
    const std::scoped_lock lock(mutex_);
    if (++making_[key].done == core->participants.here()) making_.erase(key);
  });
  CollectiveWait& wait = core->collectives.wait();
  try {
    core->collectives.revoking([&, first = first, core = core.get()] {
      if (first) {
        meet(context, *core);
      } else {
        wait.until(context, members_.self(),
                   [&] { return core->met.load(std::memory_order_acquire); });
      }
      // Whoever is through may use it, and finds it at all members.
      core->of_all.publish();
      core->collectives.barrier(context, Collective::kGroupBegins);
    });
    wait.limit({});
  } catch (...) {
    wait.break_for_all(std::current_exception());
    leave(core);
    throw;
  }
  return core;
}

void Groups::meet(ThreadContext& context, GroupCore& core) {
  const Participants& all = core.participants;
  const std::vector<std::uint32_t> partners = Rounds::partners(all.self(), all.processes());
  for (const std::uint32_t partner : partners) connections_.expect(all.process(partner));
  for (const std::uint32_t partner : partners) {
    const ProcessId to = all.process(partner);
    if (!send(fabric_, to, BlockRecord{core.key, core.collectives.block().remote()})) {
      throw PeerFailed(to, kMaking, failures_.reason(to));
    }
  }
  for (const std::uint32_t partner : partners) {
    const ProcessId process = all.process(partner);
    const auto has_come = [&] {
      const std::scoped_lock lock(mutex_);
      const std::map<ProcessId, Locator>& come = making_[core.key].blocks;
      const auto found = come.find(process);
      if (found != come.end()) core.collectives.block().set_peer(partner, found->second);
      return found != come.end();
    };
    core.collectives.wait().until(context, process, has_come);
  }
  core.met.store(true, std::memory_order_release);
}

void Groups::leave(std::shared_ptr<GroupCore> core) noexcept {
  const bool bad = core->collectives.wait().over();
  const std::scoped_lock lock(mutex_);
  if (--core->users != 0) return;
  take_out(*core);
  if (bad) kept_.push_back(std::move(core));
}

void Groups::put(GroupCore& core) {
  for (std::size_t i = 0; i < living_.size(); ++i) {
    Entry& entry = living_[(core.key + i) % living_.size()];
    if (entry.core.load(std::memory_order_relaxed) != nullptr) continue;
    entry.core.store(&core, std::memory_order_relaxed);
    // Release: pairs with find().
    entry.key.store(core.key, std::memory_order_release);
    return;
  }
  throw dtutils::Error(kMaking, fmt::format("there are {} groups already", living_.size()),
                       "end some that are not used any more");
}

void Groups::take_out(const GroupCore& core) noexcept {
  for (Entry& entry : living_) {
    if (entry.core.load(std::memory_order_relaxed) != &core) continue;
    entry.core.store(nullptr, std::memory_order_relaxed);
    return;
  }
}

GroupCore* Groups::find(std::uint64_t key) const noexcept {
  for (std::size_t i = 0; i < living_.size(); ++i) {
    const Entry& entry = living_[(key + i) % living_.size()];
    const std::uint64_t found = entry.key.load(std::memory_order_acquire);
    if (found == key) {
      if (GroupCore* const core = entry.core.load(std::memory_order_relaxed)) return core;
    }
    // Never used, so there is nothing behind it.
    if (found == 0) return nullptr;
  }
  return nullptr;
}

}  // namespace dsfabric
