// SPDX-License-Identifier: MIT
// A table of keys and values of any size: the slots hold a hash, and name a piece of memory.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dsfabric/peer_failed.hpp"
#include "dsfabric/remote_future.hpp"
#include "dtutils/synchronizer.hpp"
#include "hashtable/detail/fixed_table.hpp"
#include "hashtable/detail/record.hpp"

namespace hashtable::detail {

/// The untyped table of records. Finds are one-sided: they read a block of a bucket, then a piece,
/// and compare the check of the piece with the one in the slot. Changes are made by the home alone:
/// by its worker (Mode::kByCall), else by a service thread of its process. Owner thread only.
class PackedTable {
 public:
  /// As FixedTable. Setup only.
  PackedTable(dsfabric::Thread& self, const Options& options, const TypeNames& types);

  /// What find() has found.
  struct Found {
    /// Its words stay until the next operation.
    Record record;
    /// Where they lay.
    Piece piece;
  };

  /// The record of a key; nothing when there is none.
  std::optional<Found> find(std::span<const std::byte> key);
  /// A change of an entry by this worker: one at a time, since its record lies in the same memory
  /// of the home each time. Taken before the record is made.
  class Turn {
   public:
    /// Waits for those that fibers of this worker make, and serves meanwhile. Throws Error where an
    /// inline handler would have to wait, and what handlers throw.
    explicit Turn(PackedTable& table) : table_(table) { table.take_turn(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { table_.pass_turn(); }

   private:
    PackedTable& table_;
  };
  /// A change: remove has no value. Within a Turn. `seen`: it takes place if the key lies in that
  /// piece still, else the answer is kDiffers. Throws Error when the record is larger than
  /// Options::max_entry.
  Status change(Operation operation, std::span<const std::byte> key,
                std::span<const std::byte> value, const Piece* seen = nullptr);
  /// All of them, in no fixed order, and all done when it returns: finds with kInFlight reads in
  /// flight, changes with up to kCallBatch in a call. Throws Error, and has done nothing, when a
  /// record is larger than Options::max_entry. Takes the Turn itself.
  void perform(std::span<PackedItem* const> items);
  /// The same for exchanges: finds, and updates of what has the expected value, until nothing has
  /// changed between the two.
  void perform(std::span<PackedExchange* const> exchanges);
  /// What an aggregated call answers: the status, and the value that was found.
  using Answer = std::pair<Status, std::vector<std::byte>>;
  /// Starts an operation by an aggregated call. kAgain is the answer of a find whose value does not
  /// fit into one. Nothing: the change does not; perform() it. Throws as perform().
  std::optional<dsfabric::RemoteFuture<Answer>> start(const PackedItem& item);
  /// The same for an exchange: the answer has the value that differs.
  std::optional<dsfabric::RemoteFuture<Answer>> start(const PackedExchange& exchange);
  /// Sends the calls that start() has made.
  void flush() noexcept { table_.flush(); }
  /// Calls f(record) for each entry; throws as FixedTable::for_each.
  template <class F>
  void for_each(F&& f) {
    std::vector<std::uint64_t> piece;
    std::exception_ptr lost;
    table_.for_each([&](const Key& key, const Piece& value) {
      Piece seen = value;
      try {
        if (!fetch(key[0], seen, piece)) return;
      } catch (const dsfabric::PeerFailed&) {
        if (!lost) lost = std::current_exception();
        return;
      }
      for (std::span<const std::uint64_t> left = piece; !left.empty();) {
        f(Record::take(left));
      }
    });
    if (lost) std::rethrow_exception(lost);
  }
  /// The worker of a key's home.
  dsfabric::ThreadId home_of(std::span<const std::byte> key) const noexcept {
    return table_.thread_of(rank_of(key));
  }
  /// The part of this worker.
  Home& home() noexcept { return table_.home(); }
  /// Gives all keys the same hash. For tests; by all workers, before the first insert.
  void collide() noexcept { mask_ = 0; }

 private:
  /// key: the hash of the user's key. value: its piece.
  using Table = FixedTable<1, 3>;
  using Key = std::array<std::uint64_t, 1>;

  /// Answers of the changes that one call carries.
  using Answers = std::array<Status, kCallBatch>;

  std::uint64_t key_of(std::span<const std::byte> key) const noexcept;
  /// The rank of its home.
  std::uint32_t rank_of(std::span<const std::byte> key) const noexcept {
    return table_.home_of({key_of(key)});
  }
  void check_size(std::size_t bytes) const;
  void take_turn();
  void pass_turn() noexcept;
  bool fetch(std::uint64_t key, Piece& named, std::vector<std::uint64_t>& piece);
  void find_together(std::span<PackedItem* const> items);
  void change_together(std::span<PackedItem* const> items);
  void stage(std::vector<std::uint64_t>& staged, Operation operation,
             std::span<const std::byte> key, std::span<const std::byte> value,
             const Piece* seen = nullptr) const;
  void send_staged(std::uint32_t home);
  static Answers apply(Home& home, std::uint16_t rank, std::span<const std::uint64_t> staged);
  std::optional<dsfabric::RemoteFuture<Answer>> start_staged(
      const std::vector<std::uint64_t>& staged);
  static Answer answer(Home& home, std::uint16_t rank, std::span<const std::uint64_t> staged);

  Table table_;
  const Options options_;
  std::vector<std::uint64_t> piece_;
  /// Changes on their way to one home, as they lie there before it makes them. Within a Turn.
  std::vector<std::uint64_t> staged_;
  bool changing_ = false;
  /// Of the fibers that wait for their turn, in order; each is done when it has it.
  std::deque<dtutils::Synchronizer*> waiting_;
  /// The calls of the last changes. They are pending after their turn when a handler threw
  /// meanwhile, or another home was gone.
  std::vector<dsfabric::RemoteFuture<Answers>> last_;
  std::uint64_t mask_ = ~std::uint64_t{0};
};

}  // namespace hashtable::detail
