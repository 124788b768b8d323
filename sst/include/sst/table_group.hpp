// SPDX-License-Identifier: MIT
// What the tables of a process share: connections to all processes, and how tables find each other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "dsfabric/fabric.hpp"
#include "dtutils/completion_queue.hpp"
#include "dtutils/mutex.hpp"
#include "dtutils/rdma_memory.hpp"
#include "dtutils/selective_signaling.hpp"
#include "dtutils/transmitter.hpp"

namespace sst {

namespace detail {
class TableGroups;
}  // namespace detail

/// What a user may choose about a TableGroup.
struct TableGroupOptions {
  /// Threads of this process that may set, push or read at the same time, on all tables together:
  /// workers, a PollingThread whose triggers do it or that fetches rows. With 1 a push costs no
  /// locked instruction; then two such calls must never overlap.
  std::uint32_t threads = 4;
};

/// One queue pair to each other process, for tables only: so other threads that use the fabric do
/// not matter to them, and pushes to one member stay in order no matter which thread of this
/// process makes them. To and from newcomers to an elastic job tables use those of the fabric's
/// first worker, for which the same holds but for that other threads share them.
///
/// Made by all processes of the job, outside of Fabric::run (a collective). It outlives its tables,
/// and the fabric outlives it. Its end says goodbye to the others, and waits, at most
/// kFlushTimeout, until that and the pushes that were posted have arrived; from then on no other
/// process can write into the tables of this process. In an elastic job it is a collective of the
/// founders; a newcomer makes it alone, as the founders' of the same number, and what others may
/// still write to stays with the fabric.
///
/// Connections that break: a push that gets no answer breaks its queue pair, though the fabric's
/// own may be well. The failure detector's thread looks at the pairs of this process every
/// Config::watch_interval. It declares the peer of a broken pair failed, unless that has said
/// goodbye: then only its tables have ended. The fabric tells the peer, where it lives, that it was
/// given up, so it is enough that one of the two has used the pair. The thread reads the state of
/// the queue pairs (QueuePair::state, Transmitter::error) and polls nothing, so it is none of
/// TableGroupOptions::threads.
///
/// Beliefs: a process is cut off here as soon as the fabric here calls it failed (`cut_off`), and
/// from then on no byte of it arrives, whether it is dead or was only stopped and wakes. Others
/// believe the same earlier, later or never, and may have received more or less of it. One that
/// wakes, or that only some have given up, finds its connections to those broken, so that it calls
/// them failed in its turn. Nothing here decides from that for the job; Agreement does.
class TableGroup {
 public:
  /// Throws dtutils::Error or dsfabric::PeerFailed. Setup only.
  explicit TableGroup(dsfabric::Fabric& fabric, const TableGroupOptions& options = {});
  TableGroup(const TableGroup&) = delete;
  TableGroup& operator=(const TableGroup&) = delete;
  ~TableGroup();

  /// The fabric that it was made from. Any thread, wait-free.
  dsfabric::Fabric& fabric() const noexcept { return fabric_; }
  /// To another process. Any thread, as TableGroupOptions::threads allows.
  dtutils::Transmitter& transmitter(dsfabric::ProcessId to) noexcept {
    dtutils::Transmitter* const own = links_->transmitters[to.value].get();
    return own != nullptr ? *own : fabric_.transmitter_of(0, to);
  }
  /// Bytes that a push can carry inline to any process.
  std::uint32_t max_inline() const noexcept { return max_inline_; }
  /// The bytes of one write become visible in ascending order, at every process: what the devices
  /// say, see Table.
  bool bytes_in_order() const noexcept { return bytes_in_order_; }
  /// Grows when a process is called failed here, after its connection was cut. Any thread,
  /// wait-free.
  std::uint32_t failures() const noexcept {
    // Acquire: pairs with the upcall, so that whoever sees the count sees the frozen rows.
    return links_->failures.load(std::memory_order_acquire);
  }
  /// The other process takes part: it has neither failed nor left, nor ended its TableGroup. Any
  /// thread, wait-free.
  bool present(dsfabric::ProcessId process) const noexcept;
  /// The other process left, or it failed and all connections of this process to it are cut:
  /// nothing that it writes arrives here any more. Any thread, wait-free.
  bool cut_off(dsfabric::ProcessId process) const noexcept;

  // --- for tables -----------------------------------------------------------------------------
  /// The making of a table, as one of its members sees it.
  struct Meeting {
    /// All members of the table, in the order of rows.
    const std::vector<dsfabric::ProcessId>& members;
    /// What tells the table from others.
    std::uint64_t digest;
    /// TableOptions::name, for messages.
    std::string_view name;
    /// Whether that member has made the table, needs nothing more from others, and may leave.
    std::function<bool(dsfabric::ProcessId)> made;
    /// TableOptions::give_up.
    std::function<bool()> give_up = {};
  };
  /// Offers memory of a table to the other members, and waits for theirs: those of the table with
  /// the same digest. The result is in the order of `members`; the entry of this process is `mine`.
  /// Serves messages meanwhile. Throws PeerFailed when any member fails or leaves: the others give
  /// up when they know of it. Throws Error when one does not come within Config::start_timeout. One
  /// thread at a time.
  std::vector<dtutils::RemoteMemoryLocator> meet(const Meeting& meeting,
                                                 const dtutils::RemoteMemoryLocator& mine);
  /// Whether `by` has offered a table with this digest, and it was not met here. The thread of
  /// meet().
  bool is_offered(dsfabric::ProcessId by, std::uint64_t digest) const noexcept {
    return find_offer(by, digest) != nullptr;
  }
  /// Writes a word to a peer, whatever the device takes inline, and does not wait. False: the
  /// connection is broken. One thread at a time.
  bool write_word(dsfabric::ProcessId to, const dtutils::RemoteMemoryLocator& where,
                  std::uint64_t value) noexcept;
  /// Waits until `process` has `done` its part, serving messages; throws as meet.
  void await(const Meeting& meeting, dsfabric::ProcessId process,
             const std::function<bool()>& done);
  /// Memory of a table that is gone here: others may still write to it, and the device may still
  /// read from it.
  struct DeferredFree {
    /// The memory itself.
    std::vector<dtutils::RDMAMemory> memory;
    /// What this process has posted.
    std::vector<dtutils::RetireTag> tags;
    /// Words in that memory in which the other members say that they write no more.
    struct Goodbye {
      /// The member that writes the word.
      dsfabric::ProcessId process;
      /// The word, in `memory`.
      const std::uint64_t* word;
    };
    /// One for each other member.
    std::vector<Goodbye> goodbyes;
  };
  /// The value by which a member says that it writes no more: in a table, or in all of them.
  static constexpr std::uint64_t kGoodbye = 2;
  /// Frees the memory when no member uses it any more, at the latest with the TableGroup. Does not
  /// wait.
  void defer_free(DeferredFree deferred);
  /// A newcomer to the job, or another process to a newcomer, has said where its mailbox is; the
  /// answer is where that of this process is. Any thread (takes a lock).
  dtutils::RemoteMemoryLocator introduce(dsfabric::ProcessId process,
                                         const dtutils::RemoteMemoryLocator& mailbox);

 private:
  /// A table that its owner wants to share with a peer, in the peer's mailbox. The number is
  /// written after the rest.
  struct Offer {
    std::uint64_t digest;
    dtutils::RemoteMemoryLocator memory;
    std::uint64_t number;
    std::uint64_t unused[3];
  };
  static_assert(sizeof(Offer) == 64);
  /// What the fabric's upcalls need, which may run when the TableGroup is gone.
  struct Links {
    explicit Links(std::size_t processes) : transmitters(processes), cut(processes) {}
    void cut_off(dsfabric::ProcessId failed) noexcept;
    /// Declares the peers of broken transmitters failed. The failure detector's thread.
    void look(dsfabric::Fabric& fabric) noexcept;
    /// The process has ended its TableGroup. While there are transmitters.
    bool parted(dsfabric::ProcessId process) const noexcept;
    /// By process; nullptr where the fabric's are used.
    std::vector<std::unique_ptr<dtutils::Transmitter>> transmitters;
    std::atomic<std::uint32_t> failures{0};
    /// By process.
    std::vector<std::atomic<bool>> cut;
    /// Held while a connection is cut or looked at, and while all of them are destroyed.
    dtutils::Mutex ending;
    /// By process, in the mailbox: where it says goodbye.
    const std::uint64_t* goodbyes = nullptr;
  };

  bool can_be_freed(const DeferredFree& deferred) const noexcept;
  bool write(dsfabric::ProcessId to, const dtutils::RemoteMemoryLocator& where, const void* bytes,
             std::uint32_t length) noexcept;
  /// The same, without the wait for a copy: the scratch word of the process stays in use.
  bool post(dsfabric::ProcessId to, const dtutils::RemoteMemoryLocator& where, const void* bytes,
            std::uint32_t length) noexcept;
  void connect();
  /// Tells all others that this process writes no more, and waits until they have it.
  void say_goodbye() noexcept;
  /// Exchanges mailboxes with a process, unless that is done. Throws as await.
  void meet_first_time(const Meeting& meeting, dsfabric::ProcessId process);
  bool is_broken(dsfabric::ProcessId process) const noexcept;
  void make_offer(dsfabric::ProcessId to, const dtutils::RemoteMemoryLocator& mine,
                  std::uint64_t digest);
  bool take_offer(dsfabric::ProcessId from, std::uint64_t digest,
                  dtutils::RemoteMemoryLocator& theirs) noexcept;
  /// The oldest one that was not taken.
  const Offer* find_offer(dsfabric::ProcessId from, std::uint64_t digest) const noexcept;
  /// A member whose absence may make the others give up; `awaited` is one that has not done its
  /// part.
  std::optional<dsfabric::ProcessId> missing(const Meeting& meeting,
                                             dsfabric::ProcessId awaited) const;
  [[noreturn]] void throw_absent(dsfabric::ProcessId process, std::string_view name) const;

  dsfabric::Fabric& fabric_;
  std::uint32_t max_inline_ = 0;
  bool bytes_in_order_ = true;
  /// Offers from all processes, kOffers each, and behind them a word from each: its goodbye.
  dtutils::RDMAMemory mailbox_;
  /// A word for each process, where `write` copies what a device does not take inline.
  dtutils::RDMAMemory scratch_;
  std::vector<DeferredFree> deferred_frees_;
  /// Changes once for each process, under the lock, before `known_`.
  std::vector<dtutils::RemoteMemoryLocator> mailboxes_;
  std::vector<std::atomic<bool>> known_;
  dtutils::Mutex introducing_;
  /// By process: offers made, and the last one taken.
  std::vector<std::uint64_t> made_;
  std::vector<std::uint64_t> taken_;
  // The queue pairs go before the memory that peers reach through them.
  dtutils::CompletionQueue receives_;
  std::shared_ptr<Links> links_;
  dsfabric::UpcallId upcall_;
  dsfabric::UpcallId watch_;
  /// Of an elastic job: where newcomers find this one, by its number.
  std::shared_ptr<detail::TableGroups> groups_;
  std::uint32_t number_ = 0;
};

}  // namespace sst
