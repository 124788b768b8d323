// SPDX-License-Identifier: MIT
// HashTable<Key, Value> for keys and values that do not fit into slots.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsfabric/travels.hpp"
#include "hashtable/compared_by_bytes.hpp"
#include "hashtable/detail/packed_table.hpp"
#include "hashtable/forms.hpp"
#include "hashtable/options.hpp"

namespace hashtable {

/// Entries in pieces: find is two RDMA reads; changes are made by the home, by its worker
/// (Mode::kByCall) or by a service thread of its process (all other modes).
template <class Key, class Value>
requires(!InSlots<Key, Value> && dsfabric::Travelling<Key> && dsfabric::Travelling<Value>)
class HashTable<Key, Value> {
 public:
  /// One operation of a batch.
  class Item {
   public:
    /// A find or a remove.
    Item(Operation operation, const Key& key) {
      item_.operation = operation;
      (void)pack(key, item_.key);
    }
    /// `value`: the one to be written.
    Item(Operation operation, const Key& key, const Value& value) : Item(operation, key) {
      (void)pack(value, item_.value);
    }
    /// The answer. kAgain: perform() has thrown before there was one.
    Status status() const noexcept { return item_.status; }
    /// What find has found, when status() is kDone.
    Value value() const { return unpack<Value>(item_.value); }

   private:
    friend class HashTable;
    detail::PackedItem item_;
  };

  /// One compare_exchange of a batch.
  class Exchange {
   public:
    /// See compare_exchange().
    Exchange(const Key& key, const Value& expected, const Value& desired) {
      (void)pack(key, exchange_.item.key);
      (void)pack(expected, exchange_.expected);
      (void)pack(desired, exchange_.desired);
    }
    /// The answer. kAgain: perform() has thrown before there was one.
    Status status() const noexcept { return exchange_.item.status; }
    /// The value that the key has, when status() is kDiffers.
    Value value() const { return unpack<Value>(exchange_.item.value); }

   private:
    friend class HashTable;
    detail::PackedExchange exchange_;
  };

  /// An operation that start() or start_compare_exchange() has begun.
  class Pending {
   public:
    /// Whether get() would not wait.
    bool ready() const noexcept { return future_ && future_->ready(); }
    /// Waits, serving calls. Once.
    Status get() {
      detail::PackedItem& item = asked_.item;
      if (future_) {
        auto [status, found] = future_->get();
        if (exchanges_ || item.operation == Operation::kFind) item.value = std::move(found);
        if (status != Status::kAgain) return status;
      }
      if (exchanges_) {
        detail::PackedExchange* const alone[] = {&asked_};
        table_->perform(alone);
      } else {
        detail::PackedItem* const alone[] = {&item};
        table_->perform(alone);
      }
      return item.status;
    }
    /// What find has found, after get() has answered kDone; after kDiffers, the value that the key
    /// has.
    Value value() const { return unpack<Value>(asked_.item.value); }

   private:
    friend class HashTable;
    Pending(detail::PackedTable& table, Item&& item)
        : table_(&table),
          asked_{.item = std::move(item.item_), .expected = {}, .desired = {}},
          future_(table.start(asked_.item)) {}
    Pending(detail::PackedTable& table, Exchange&& exchange)
        : table_(&table),
          exchanges_(true),
          asked_(std::move(exchange.exchange_)),
          future_(table.start(asked_)) {}
    detail::PackedTable* table_;
    bool exchanges_ = false;
    /// Of an operation that is no exchange, the item alone.
    detail::PackedExchange asked_;
    std::optional<dsfabric::RemoteFuture<detail::PackedTable::Answer>> future_;
  };

  /// See above.
  explicit HashTable(dsfabric::Thread& self, const Options& options = {})
      : table_(self, options, detail::type_names<Key, Value>()) {}

  /// The value of a key.
  std::optional<Value> find(const Key& key) {
    const auto found = table_.find(pack(key, key_));
    if (!found) return std::nullopt;
    return unpack<Value>(found->record.value());
  }
  /// kDone, kExists, kFull. As all changes: throws Error when the packed entry is larger than
  /// Options::max_entry.
  Status insert(const Key& key, const Value& value) {
    const detail::PackedTable::Turn turn(table_);
    return table_.change(Operation::kInsert, pack(key, key_), pack(value, value_));
  }
  /// kDone, kMissing, kFull.
  Status update(const Key& key, const Value& value) {
    const detail::PackedTable::Turn turn(table_);
    return table_.change(Operation::kUpdate, pack(key, key_), pack(value, value_));
  }
  /// kDone: the key has the value now, whether it was there or not; kFull.
  Status insert_or_assign(const Key& key, const Value& value) {
    const detail::PackedTable::Turn turn(table_);
    return table_.change(Operation::kInsertOrAssign, pack(key, key_), pack(value, value_));
  }
  /// As that of entries in slots: kDone, kDiffers, kMissing, kFull. Values are compared as they are
  /// packed. It is a find, which answers kDiffers, and an update that takes place if nothing has
  /// changed meanwhile; else it looks again.
  Status compare_exchange(const Key& key, Value& expected, const Value& desired)
  requires ComparedAsPacked<Value>
  {
    for (;;) {
      const auto found = table_.find(pack(key, key_));
      if (!found) return Status::kMissing;
      if (!std::ranges::equal(found->record.value(), pack(expected, value_))) {
        expected = unpack<Value>(found->record.value());
        return Status::kDiffers;
      }
      const Status status = update_found(found->piece, key, desired);
      if (status != Status::kDiffers) return status;
    }
  }
  /// As that of entries in slots: the value becomes f(value). kDone, kMissing, kFull.
  template <class F>
  requires ComparedAsPacked<Value> && std::is_invocable_r_v<Value, F&, const Value&>
  Status change(const Key& key, F&& f) {
    for (;;) {
      const auto found = table_.find(pack(key, key_));
      if (!found) return Status::kMissing;
      const detail::Piece piece = found->piece;
      const Value before = unpack<Value>(found->record.value());
      const Status status = update_found(piece, key, f(before));
      if (status != Status::kDiffers) return status;
    }
  }
  /// kDone, kMissing; kFull, when other keys have the same hash and there is no memory to copy
  /// them.
  Status remove(const Key& key) {
    const detail::PackedTable::Turn turn(table_);
    return table_.change(Operation::kRemove, pack(key, key_), {});
  }
  /// Many operations, in no fixed order, and all done when it returns: finds with kInFlight reads
  /// in flight, changes by calls with up to kCallBatch of them each, as many as Options::max_entry
  /// bytes have room for. Throws Error, and has done nothing, when an entry is larger than that.
  void perform(std::span<Item> items) {
    std::vector<detail::PackedItem*> all;
    for (Item& each : items) all.push_back(&each.item_);
    table_.perform(all);
  }
  /// The same for exchanges: finds, and the updates of those that have the expected value. Throws
  /// Error when a value that is to be written is too large; no other was written then.
  void perform(std::span<Exchange> exchanges)
  requires ComparedAsPacked<Value>
  {
    std::vector<detail::PackedExchange*> all;
    for (Exchange& each : exchanges) all.push_back(&each.exchange_);
    table_.perform(all);
  }
  /// Begins one operation by an aggregated call, whatever the mode; flush() sends what was begun.
  /// One whose key and value have more than 1 KiB, and a find of a value of more than 4 KB, are
  /// done in get(). The result may outlive no table. Throws Error when the entry is too large.
  Pending start(Operation operation, const Key& key) {
    return Pending(table_, Item(operation, key));
  }
  /// `value`: the one to be written.
  Pending start(Operation operation, const Key& key, const Value& value) {
    return Pending(table_, Item(operation, key, value));
  }
  /// Begins a compare_exchange(), as start(): by one call, and in get() when the key and the two
  /// values have more than 1 KiB, or the value that differs has more than 4 KB.
  Pending start_compare_exchange(const Key& key, const Value& expected, const Value& desired)
  requires ComparedAsPacked<Value>
  {
    return Pending(table_, Exchange(key, expected, desired));
  }
  /// See start().
  void flush() noexcept { table_.flush(); }
  /// As that of entries in slots.
  template <class F>
  void for_each(F&& f) {
    table_.for_each([&](const detail::Record& record) {
      f(unpack<Key>(record.key()), unpack<Value>(record.value()));
    });
  }
  /// As that of entries in slots.
  dsfabric::ThreadId home_of(const Key& key) { return table_.home_of(pack(key, key_)); }
  /// How full this worker's part is. Setup only.
  Fill fill() { return table_.home().fill(); }
  /// For tests.
  detail::PackedTable& detail() noexcept { return table_; }

 private:
  /// kDiffers: the entry may have changed since it was found in that piece.
  Status update_found(const detail::Piece& piece, const Key& key, const Value& value) {
    const detail::PackedTable::Turn turn(table_);
    return table_.change(Operation::kUpdate, pack(key, key_), pack(value, value_), &piece);
  }
  template <class T>
  static std::span<const std::byte> pack(const T& value, std::vector<std::byte>& bytes) {
    dsfabric::Packer counter(nullptr);
    counter(value);
    bytes.resize(counter.size());
    dsfabric::Packer writer(bytes.data());
    writer(value);
    return bytes;
  }
  template <class T>
  static T unpack(std::span<const std::byte> bytes) {
    dsfabric::Unpacker in(bytes);
    return in.template value<T>();
  }

  std::vector<std::byte> key_;
  std::vector<std::byte> value_;
  detail::PackedTable table_;
};

}  // namespace hashtable
