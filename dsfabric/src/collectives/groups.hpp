// SPDX-License-Identifier: MIT
// The groups of a process: how members find each other, and where others find a group.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/participants.hpp"
#include "dsfabric/message.hpp"
#include "dtutils/general_allocator.hpp"
#include "dtutils/mutex.hpp"
#include "threads/arrivals.hpp"

namespace dsfabric {

/// What the workers of one process share of a group. Thread contracts at its parts.
class GroupCore {
 public:
  GroupCore(Participants members, std::uint64_t its_key, dtutils::GeneralAllocator& memory,
            Connections& connections, Failures& failures, const OwnFailure& own_failure,
            MessageEngine& messages, Arrivals& arrivals_of_all)
      : participants(std::move(members)),
        key(its_key),
        of_all(arrivals_of_all),
        collectives(participants,
                    memory.allocate(
                        RoundLayout(participants.processes(), participants.max_workers()).size()),
                    connections, failures, own_failure, messages, arrivals) {}
  GroupCore(const GroupCore&) = delete;
  GroupCore& operator=(const GroupCore&) = delete;

  const Participants participants;
  const std::uint64_t key;
  /// Those of the fabric, which handlers look at: published before each collective of the group.
  Arrivals& of_all;
  Arrivals arrivals;
  Collectives collectives;
  /// Workers of this process that have it. Under the lock of Groups.
  std::uint32_t users = 0;
  /// The blocks of the others are known. Release, and acquire by those who wait for it.
  std::atomic<bool> met{false};
};

/// Members of a group are told where a block is by the processes that it writes to, and by no
/// others (Rounds::partners), in a message of kind kGroup. It may come before this process makes
/// the group. Two groups of the same members are told apart by how many each of their workers had
/// made of them before. They tell each other in the same way that the collectives of a group, or
/// of the whole job, are over (Collectives::on_revoke): not by a write into a block, for the memory
/// of a group that somebody has left in good order serves others.
class Groups {
 public:
  /// Takes over the messages of kind kGroup. `of_all`: the collectives of the whole job.
  /// `patience`: for those that have not come. Setup only.
  Groups(Fabric& fabric, const Members& members, dtutils::GeneralAllocator& memory,
         Connections& connections, Failures& failures, const OwnFailure& own_failure,
         MessageEngine& messages, Arrivals& arrivals, Collectives& of_all,
         std::chrono::milliseconds patience);
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  /// As the constructor of Group. Workers only.
  std::shared_ptr<GroupCore> make(ThreadContext& context, std::vector<ThreadId> workers);
  /// A worker is done with the group. When its collectives did not end well, others may still write
  /// into its block, whose memory serves nobody else any more. Any thread (takes a lock).
  void leave(std::shared_ptr<GroupCore> core) noexcept;
  /// nullptr: no worker of this process is in a group of that key. Any thread, wait-free.
  GroupCore* find(std::uint64_t key) const noexcept;

 private:
  using Locator = dtutils::RemoteMemoryLocator;
  /// A group that is being made here, or of which others have told.
  struct Making {
    std::shared_ptr<GroupCore> core;
    /// Workers of this process that are through.
    std::uint32_t done = 0;
    std::map<ProcessId, Locator> blocks;
    /// Told before it was made here.
    std::optional<Revocation> revoked;
  };
  struct Entry {
    std::atomic<std::uint64_t> key{0};
    std::atomic<GroupCore*> core{nullptr};
  };

  bool handle(const Incoming& message);
  bool take_block(const Incoming& message);
  bool take_revocation(const Incoming& message);
  /// The collectives of all, or of a group that lives here. Under the lock.
  Collectives* collectives_of(std::uint64_t key) noexcept;
  std::uint64_t key_of(const ThreadContext& context, const std::vector<ThreadId>& workers);
  /// The core of this process for the group, and whether the caller is the first to come.
  std::pair<std::shared_ptr<GroupCore>, bool> enter(Participants participants, std::uint64_t key);
  /// Exchanges blocks with the partners.
  void meet(ThreadContext& context, GroupCore& core);
  void tell_partners(const Participants& all, std::uint64_t key, const Revocation& why);
  void put(GroupCore& core);
  void take_out(const GroupCore& core) noexcept;

  Fabric& fabric_;
  const Members& members_;
  dtutils::GeneralAllocator& memory_;
  Connections& connections_;
  Failures& failures_;
  const OwnFailure& own_failure_;
  MessageEngine& messages_;
  Arrivals& arrivals_;
  Collectives& of_all_;
  const std::chrono::milliseconds patience_;

  /// Revocations are posted under it.
  dtutils::Mutex mutex_;
  std::map<std::uint64_t, Making> making_;
  /// How many groups of these members a worker has made.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> made_;
  /// Those that ended badly.
  std::vector<std::shared_ptr<GroupCore>> kept_;
  /// Living groups, from the place of their key on.
  std::array<Entry, kMaxGroups> living_;
};

}  // namespace dsfabric
