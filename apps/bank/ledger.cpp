// SPDX-License-Identifier: MIT
// Ledger: transfers, the journal, and the audit.
#include "ledger.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace bank {
namespace {

locks::LockSpaceOptions space_options(dsfabric::Thread& self, std::uint32_t accounts_each) {
  locks::LockSpaceOptions options;
  options.locks = self.fabric().max_threads() * accounts_each;
  // The audit holds all locks at once; some places rest after the death of a home.
  options.places = std::min(4096u, 2 * accounts_each * self.fabric().total_threads() + 16);
  return options;
}

}  // namespace

Ledger::Ledger(dsfabric::Thread& self, std::uint32_t accounts_each)
    : self_(self),
      fabric_(self.fabric()),
      accounts_each_(accounts_each),
      threads_(self.fabric().total_threads()),
      space_(self, space_options(self, accounts_each)),
      memory_(self, std::size_t{accounts_each} * self.fabric().processes() * sizeof(std::int64_t) +
                        std::size_t{self.fabric().total_threads()} * sizeof(Entry)),
      scratch_(self.fabric().general_allocator().allocate(sizeof(Entry))) {
  std::memset(memory_.data(), 0, memory_.size());
  self.barrier();
}

dsfabric::ProcessId Ledger::home_of(std::uint32_t account) const noexcept {
  return fabric_.thread_of_rank(account / accounts_each_).process;
}

bool Ledger::lost(std::uint32_t account) const noexcept {
  return fabric_.state(home_of(account)) != dsfabric::PeerState::kActive;
}

locks::LockId Ledger::lock_of(std::uint32_t account) const noexcept {
  const dsfabric::ThreadId owner = fabric_.thread_of_rank(account / accounts_each_);
  return {owner.process, owner.index * accounts_each_ + account % accounts_each_};
}

dtutils::RemoteMemoryLocator Ledger::word_at(std::uint32_t account,
                                             std::uint32_t process) const noexcept {
  const dsfabric::ThreadId owner = fabric_.thread_of_rank(account / accounts_each_);
  const std::size_t word = std::size_t{account % accounts_each_} * fabric_.processes() + process;
  dtutils::RemoteMemoryLocator at =
      memory_.at(owner).part(word * sizeof(std::int64_t), sizeof(std::int64_t));
  at.process = owner.process.value;
  return at;
}

dtutils::RemoteMemoryLocator Ledger::entry_at(dsfabric::ProcessId home,
                                              std::uint32_t rank) const noexcept {
  const std::size_t accounts =
      std::size_t{accounts_each_} * fabric_.processes() * sizeof(std::int64_t);
  dtutils::RemoteMemoryLocator at =
      memory_.at({home, 0}).part(accounts + rank * sizeof(Entry), sizeof(Entry));
  at.process = home.value;
  return at;
}

std::int64_t Ledger::read(const dtutils::RemoteMemoryLocator& word) {
  const dsfabric::ProcessId home{word.process};
  if (!self_.transmitter(home).blocking_read(scratch_.local(0, sizeof(std::int64_t)), word)) {
    throw dsfabric::PeerFailed(home, "reading an account", "its home is gone");
  }
  std::int64_t value;
  std::memcpy(&value, scratch_.data(), sizeof value);
  return value;
}

void Ledger::write(const dtutils::RemoteMemoryLocator& word, std::uint64_t value) {
  // When it does not arrive, flush says so.
  (void)self_.transmitter({word.process}).write({&value, sizeof value, 0}, word, dtutils::kInlined);
}

void Ledger::flush(dsfabric::ProcessId to) {
  if (!self_.transmitter(to).flush()) {
    throw dsfabric::PeerFailed(to, "writing an account", "its home is gone");
  }
}

void Ledger::transfer(std::uint32_t from, std::uint32_t to, std::int64_t amount) {
  if (from == to || lost(from) || lost(to)) return;
  locks::SharedMutex first(space_, lock_of(std::min(from, to)));
  locks::SharedMutex second(space_, lock_of(std::max(from, to)));
  const std::unique_lock one(first);
  const std::unique_lock two(second);
  if (first.owner_died()) finish(std::min(from, to));
  if (second.owner_died()) finish(std::max(from, to));
  const dsfabric::ProcessId home = home_of(from);
  const dsfabric::ProcessId other = home_of(to);
  const auto debit = word_at(from, other.value);
  const auto credit = word_at(to, home.value);
  const auto new_debit = static_cast<std::uint64_t>(read(debit) - amount);
  const auto new_credit = static_cast<std::uint64_t>(read(credit) + amount);
  // The entry is complete before it is under way, and that before anything else changes.
  const Entry entry{0, {from, to}, {other.value, home.value}, {new_debit, new_credit}, 0};
  const auto journal = entry_at(home, fabric_.rank_of(self_.id()));
  (void)self_.transmitter(home).write({const_cast<Entry*>(&entry), sizeof entry, 0}, journal,
                                      dtutils::kInlined);
  write(journal.part(0, sizeof(std::uint64_t)), 1);
  flush(home);
  write(debit, new_debit);
  write(credit, new_credit);
  flush(home);
  flush(other);
  write(journal.part(0, sizeof(std::uint64_t)), 0);
  flush(home);
}

void Ledger::finish(std::uint32_t account) {
  for (std::uint32_t rank = 0; rank < threads_; ++rank) {
    if (!fabric_.failed(fabric_.thread_of_rank(rank).process)) continue;
    for (std::uint16_t home = 0; home < fabric_.processes(); ++home) {
      if (fabric_.state({home}) != dsfabric::PeerState::kActive) continue;
      const auto journal = entry_at({home}, rank);
      if (!self_.transmitter({home}).blocking_read(scratch_.local(0, sizeof(Entry)), journal)) {
        continue;
      }
      Entry entry;
      std::memcpy(&entry, scratch_.data(), sizeof entry);
      for (std::size_t i = 0; i < 2; ++i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        if (entry.under_way == 0 || entry.account[i] != account || (entry.done & bit) != 0)
          continue;
        write(word_at(account, static_cast<std::uint32_t>(entry.word[i])), entry.value[i]);
        flush(home_of(account));
        // The other account's finisher may do the same at the same time.
        (void)self_.transmitter({home}).blocking_fetch_and_add(
            journal.part(offsetof(Entry, done), sizeof entry.done), bit);
        ++finished_;
      }
    }
  }
}

Ledger::Audit Ledger::audit() {
  for (;;) {
    std::vector<std::unique_ptr<locks::SharedMutex<>>> held;
    std::vector<std::shared_lock<locks::SharedMutex<>>> guards;
    std::uint32_t torn = accounts();
    Audit audit;
    for (std::uint32_t account = 0; account < accounts() && torn == accounts(); ++account) {
      if (lost(account)) continue;
      held.push_back(std::make_unique<locks::SharedMutex<>>(space_, lock_of(account)));
      guards.emplace_back(*held.back());
      if (held.back()->owner_died()) torn = account;
    }
    for (std::uint32_t account = 0; account < accounts() && torn == accounts(); ++account) {
      if (lost(account)) continue;
      ++audit.accounts;
      audit.sum += kOpening;
      for (std::uint16_t process = 0; process < fabric_.processes(); ++process) {
        if (fabric_.state({process}) == dsfabric::PeerState::kActive) {
          audit.sum += read(word_at(account, process));
        }
      }
    }
    guards.clear();
    if (torn == accounts()) return audit;
    locks::SharedMutex mutex(space_, lock_of(torn));
    const std::unique_lock alone(mutex);
    if (mutex.owner_died()) finish(torn);
  }
}

}  // namespace bank
