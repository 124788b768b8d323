// SPDX-License-Identifier: MIT
// Groups: meeting, leaving, and being found.
#include "collectives/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

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

/// Payload of a message of kind kGroup: where the sender's block of a group is.
struct GroupRecord {
  std::uint64_t key;
  dtutils::RemoteMemoryLocator block;
};
static_assert(std::is_trivially_copyable_v<GroupRecord>);

}  // namespace

Groups::Groups(Fabric& fabric, const Members& members, dtutils::GeneralAllocator& memory,
               Connections& connections, Failures& failures, const OwnFailure& own_failure,
               MessageEngine& messages, Arrivals& arrivals, std::chrono::milliseconds patience)
    : fabric_(fabric),
      members_(members),
      memory_(memory),
      connections_(connections),
      failures_(failures),
      own_failure_(own_failure),
      messages_(messages),
      arrivals_(arrivals),
      patience_(patience) {
  messages.set_handler(MessageKind::kGroup, {[](void* self, const Incoming& message) {
                                               return static_cast<Groups*>(self)->handle(message);
                                             },
                                             this});
  failures_.on_failure([this](ProcessId failed, const std::string&) {
    const std::scoped_lock lock(mutex_);
    for (auto& [key, making] : making_) making.blocks.erase(failed);
    std::erase_if(making_, [](const auto& each) {
      return each.second.core == nullptr && each.second.blocks.empty();
    });
  });
}

bool Groups::handle(const Incoming& message) {
  GroupRecord record;
  if (message.payload.size() != sizeof record) return false;
  std::memcpy(&record, message.payload.data(), sizeof record);
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
  // 0 stands for the whole job, and for a free entry.
  return std::max<std::uint64_t>(hash.value(), 1);
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
    if (first) {
      meet(context, *core);
    } else {
      wait.until(context, members_.self(),
                 [&] { return core->met.load(std::memory_order_acquire); });
    }
    // Whoever is through may use it, and finds it at all members.
    core->of_all.publish();
    core->collectives.barrier(context, Collective::kGroupBegins);
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
    tell(all.process(partner), core.key, core.collectives.block().remote());
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

void Groups::tell(ProcessId to, std::uint64_t key, const Locator& block) {
  const GroupRecord record{key, block};
  SendSpace space(fabric_, to, sizeof record);
  if (space) {
    std::memcpy(space.payload(), &record, sizeof record);
    if (space.commit(MessageKind::kGroup, ThreadId::service_of(to))) return;
  }
  throw PeerFailed(to, kMaking, failures_.reason(to));
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
