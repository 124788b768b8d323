// SPDX-License-Identifier: MIT
// Accounts in registered memory of all processes, and transfers that a death does not tear.
#pragma once

#include <cstdint>
#include <vector>

#include "dsfabric/dsfabric.hpp"
#include "locks/locks.hpp"

namespace bank {

/// What every account has at the beginning.
inline constexpr std::int64_t kOpening = 1000;

/// The accounts of the job, numbered through in the order of workers. An account is a row of words,
/// one for each process: what has come from accounts of that process, less what has gone there. So
/// a transfer changes one word of each of its two accounts, and when a process is lost, the others
/// know what they owe to it and it to them.
///
/// A transfer first writes what it is going to do into the journal of its worker, at the home of
/// the first account. When its worker dies, whoever gets one of the two locks next finds out by
/// owner_died(), and finishes that account from the journal. Owner thread only.
class Ledger {
 public:
  /// A collective of all workers.
  Ledger(dsfabric::Thread& self, std::uint32_t accounts_each);

  std::uint32_t accounts() const noexcept { return accounts_each_ * threads_; }
  /// The home of an account.
  dsfabric::ProcessId home_of(std::uint32_t account) const noexcept;
  bool lost(std::uint32_t account) const noexcept;

  /// Moves money; nothing happens when a home is gone. Throws PeerFailed when that shows late.
  void transfer(std::uint32_t from, std::uint32_t to, std::int64_t amount);

  struct Audit {
    std::uint32_t accounts = 0;
    /// Of the accounts that are left, without what came from or went to lost ones.
    std::int64_t sum = 0;
  };
  /// Reads all accounts under shared locks. Throws PeerFailed when a home fails meanwhile.
  Audit audit();

  /// The locks of this worker.
  const locks::LockSpace& locks() const noexcept { return space_; }
  /// Transfers that this worker has finished for others that died.
  std::uint64_t finished_for_others() const noexcept { return finished_; }

 private:
  /// 64 bytes, in the journal.
  struct Entry {
    std::uint64_t under_way;
    std::uint64_t account[2];
    std::uint64_t word[2];
    std::uint64_t value[2];
    std::uint64_t done;  // bit i: account i was finished by another worker
  };
  static_assert(sizeof(Entry) == 64);

  locks::LockId lock_of(std::uint32_t account) const noexcept;
  dtutils::RemoteMemoryLocator word_at(std::uint32_t account, std::uint32_t process) const noexcept;
  dtutils::RemoteMemoryLocator entry_at(dsfabric::ProcessId home,
                                        std::uint32_t rank) const noexcept;
  std::int64_t read(const dtutils::RemoteMemoryLocator& word);
  void write(const dtutils::RemoteMemoryLocator& word, std::uint64_t value);
  void flush(dsfabric::ProcessId to);
  /// The holder before has died: does what it was doing with this account. Under its lock.
  void finish(std::uint32_t account);

  dsfabric::Thread& self_;
  dsfabric::Fabric& fabric_;
  const std::uint32_t accounts_each_;
  const std::uint32_t threads_;
  locks::LockSpace space_;
  /// Words of the accounts of each worker, and behind them a journal for all workers.
  dsfabric::SymmetricBuffer memory_;
  dtutils::RDMAMemory scratch_;
  std::uint64_t finished_ = 0;
};

}  // namespace bank
