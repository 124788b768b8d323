// SPDX-License-Identifier: MIT
// HashTable<Key, Value> for keys and values that fit into the slots of buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "hashtable/compared_by_bytes.hpp"
#include "hashtable/cost.hpp"
#include "hashtable/detail/fixed_table.hpp"
#include "hashtable/forms.hpp"
#include "hashtable/options.hpp"

namespace hashtable {

/// Entries in slots: find is one RDMA read; insert is one compare-and-swap and one write.
template <class Key, class Value>
requires InSlots<Key, Value>
class HashTable<Key, Value> {
  static constexpr std::uint32_t kKeyWords = (sizeof(Key) + 7) / 8;
  static constexpr std::uint32_t kValueWords = (sizeof(Value) + 7) / 8;
  using Table = detail::FixedTable<kKeyWords, kValueWords>;
  using Asked = typename Table::Asked;
  /// Operations for each figure of the cost model, when the table is made.
  static constexpr std::uint32_t kRounds = 50;

 public:
  /// Bytes that a find reads.
  static constexpr std::uint32_t kBlockBytes = Table::kShape.block_bytes();
  /// Entries that those bytes have room for.
  static constexpr std::uint32_t kBlockSlots = Table::kShape.slots;
  /// Bytes that an insert writes.
  static constexpr std::uint32_t kEntryBytes = 8 * (2 + kKeyWords + kValueWords);

  /// One operation of a batch.
  class Item {
   public:
    /// `value`: the one to be written, if any.
    Item(Operation operation, const Key& key, const Value& value = {}) noexcept {
      item_.request = asked(operation, key, value);
    }
    /// The answer. kAgain: perform() has thrown before there was one.
    Status status() const noexcept { return item_.status; }
    /// What find has found, when status() is kDone.
    Value value() const noexcept { return value_of(item_.request.value); }

   private:
    detail::BatchItem<kKeyWords, kValueWords> item_;
  };

  /// One compare_exchange of a batch.
  class Exchange {
   public:
    /// See compare_exchange().
    Exchange(const Key& key, const Value& expected, const Value& desired) noexcept {
      item_.request = asked(Operation::kUpdate, key, desired);
      item_.expected = words_of(expected);
    }
    /// The answer. kAgain: perform() has thrown before there was one.
    Status status() const noexcept { return item_.status; }
    /// The value that the key has, when status() is kDiffers.
    Value value() const noexcept { return value_of(item_.request.value); }

   private:
    detail::BatchExchange<kKeyWords, kValueWords> item_;
  };

  /// An operation that start() or start_compare_exchange() has begun.
  class Pending {
   public:
    /// Whether get() would not wait.
    bool ready() const noexcept { return future_.ready(); }
    /// Waits, serving calls. Once.
    Status get() {
      const auto answer = future_.get();
      asked_.value = answer.value;
      if (answer.status != Status::kAgain) return answer.status;
      return table_->perform(asked_, expected_ ? &*expected_ : nullptr);
    }
    /// What find has found, after get() has answered kDone; after kDiffers, the value that the key
    /// has.
    Value value() const noexcept { return value_of(asked_.value); }

   private:
    friend class HashTable;
    using Words = typename Table::Value;
    Pending(Table& table, const Asked& asked, const std::optional<Words>& expected = std::nullopt)
        : table_(&table), asked_(asked), expected_(expected) {
      future_ = table.start(asked_, expected_ ? &*expected_ : nullptr);
    }
    Table* table_;
    Asked asked_;
    std::optional<Words> expected_;
    dsfabric::RemoteFuture<detail::Answer<kValueWords>> future_;
  };

  /// A collective of all workers. Throws Error when they give other types or options, or there is
  /// no memory; PeerFailed. Setup only.
  explicit HashTable(dsfabric::Thread& self, const Options& options = {})
      : table_(self, options, detail::type_names<Key, Value>(), 0) {
    if (options.mode == Mode::kAutomatic) {
      const cost::Subject subject{.block_bytes = kBlockBytes,
                                  .entry_bytes = kEntryBytes,
                                  .table_bytes = std::uint64_t{options.buckets} * kBlockBytes,
                                  .kept = 1,  // this mode keeps none
                                  .rounds = kRounds};
      choose(cost::measure(self, subject).all);
    }
  }

  /// The value of a key.
  std::optional<Value> find(const Key& key) {
    Asked request = asked(Operation::kFind, key);
    if (table_.perform(request) != Status::kDone) return std::nullopt;
    return value_of(request.value);
  }
  /// kDone; kExists, and the value stays as it was; kFull.
  Status insert(const Key& key, const Value& value) {
    Asked request = asked(Operation::kInsert, key, value);
    return table_.perform(request);
  }
  /// kDone; kMissing; kFull, when the key has changed so often that its bucket must be rebuilt, and
  /// there is no memory for that.
  Status update(const Key& key, const Value& value) {
    Asked request = asked(Operation::kUpdate, key, value);
    return table_.perform(request);
  }
  /// kDone: the key has the value now, whether it was there or not; kFull.
  Status insert_or_assign(const Key& key, const Value& value) {
    Asked request = asked(Operation::kInsertOrAssign, key, value);
    return table_.perform(request);
  }
  /// Gives the key the value `desired` if it has the value `expected`, by its bytes, as those of
  /// std::atomic are compared: kDone. kDiffers: it has another value, which `expected` has now.
  /// kMissing; kFull, as update(). It goes by call when updates do. A value that was changed, and
  /// changed back, is one that it has.
  Status compare_exchange(const Key& key, Value& expected, const Value& desired)
  requires ComparedByBytes<Value>
  {
    Asked request = asked(Operation::kUpdate, key, desired);
    const auto expected_words = words_of(expected);
    const Status status = table_.perform(request, &expected_words);
    if (status == Status::kDiffers) expected = value_of(request.value);
    return status;
  }
  /// Gives the key the value f(value), where `value` is the one that it has. f is called again when
  /// another worker changes the key meanwhile; what its last call was given is the value before. It
  /// is a find and a compare_exchange: two calls by call, since f stays here.
  /// kDone, kMissing, kFull; throws what f throws, and then changes nothing.
  template <class F>
  requires ComparedByBytes<Value> && std::is_invocable_r_v<Value, F&, const Value&>
  Status change(const Key& key, F&& f) {
    std::optional<Value> value = find(key);
    if (!value) return Status::kMissing;
    for (;;) {
      const Status status = compare_exchange(key, *value, f(std::as_const(*value)));
      if (status != Status::kDiffers) return status;
    }
  }
  /// kDone; kMissing.
  Status remove(const Key& key) {
    Asked request = asked(Operation::kRemove, key);
    return table_.perform(request);
  }

  /// Many operations, in no fixed order, and all done when it returns: one-sided ones
  /// with kInFlight reads in flight (of finds, and those that updates and removes begin with),
  /// calls with up to kCallBatch operations each.
  void perform(std::span<Item> items) {
    static_assert(sizeof(Item) == sizeof(detail::BatchItem<kKeyWords, kValueWords>));
    table_.perform(std::span(
        reinterpret_cast<detail::BatchItem<kKeyWords, kValueWords>*>(items.data()), items.size()));
  }
  /// The same for exchanges, which go as updates do. `status()` of each is kDone, kDiffers,
  /// kMissing or kFull.
  void perform(std::span<Exchange> exchanges)
  requires ComparedByBytes<Value>
  {
    using Words = detail::BatchExchange<kKeyWords, kValueWords>;
    static_assert(sizeof(Exchange) == sizeof(Words));
    table_.perform(std::span(reinterpret_cast<Words*>(exchanges.data()), exchanges.size()));
  }
  /// Begins one operation by an aggregated call, whatever the mode; flush() sends what was begun.
  /// The result may outlive no table.
  Pending start(Operation operation, const Key& key, const Value& value = {}) {
    return Pending(table_, asked(operation, key, value));
  }
  /// Begins a compare_exchange(), as start().
  Pending start_compare_exchange(const Key& key, const Value& expected, const Value& desired)
  requires ComparedByBytes<Value>
  {
    return Pending(table_, asked(Operation::kUpdate, key, desired), words_of(expected));
  }
  /// See start().
  void flush() noexcept { table_.flush(); }

  /// Calls f(key, value) for each entry: once for each key that is there all the time, at most once
  /// for a key that comes or goes meanwhile. One-sided in every mode. When a home is gone, it shows
  /// the entries of all others before it throws PeerFailed.
  template <class F>
  void for_each(F&& f) {
    table_.for_each(
        [&](const auto& key, const auto& value) { f(value_from<Key>(key), value_of(value)); });
  }

  /// The worker that a key lives at: its home, which operations cost least at. The same at all.
  dsfabric::ThreadId home_of(const Key& key) const noexcept {
    return table_.thread_of(table_.home_of(asked(Operation::kFind, key).key));
  }
  /// How full this worker's part is. Setup only.
  Fill fill() { return table_.home().fill(); }
  /// For the cost model, from this worker's part. Setup only.
  cost::Load load() {
    const Fill fill = table_.home().fill();
    const double first = static_cast<double>(fill.slots) * static_cast<double>(fill.buckets) /
                         static_cast<double>(fill.buckets + fill.chained);
    return {static_cast<double>(fill.entries - fill.chained_entries) / first,
            static_cast<double>(fill.full) / static_cast<double>(fill.buckets),
            fill.entries == 0
                ? 0.0
                : static_cast<double>(fill.chained_entries) / static_cast<double>(fill.entries),
            static_cast<double>(fill.chained) / static_cast<double>(fill.buckets)};
  }
  /// Mode::kAutomatic decides again, for this worker, with these figures. Setup only.
  void choose(const cost::Basics& basics) {
    for (const Operation operation : kOperations) {
      table_.by_call(operation, cost::cheaper(operation, basics, 0, load()) == Mode::kByCall);
    }
  }
  /// Whether an operation goes by call.
  bool by_call(Operation operation) const noexcept { return table_.by_call(operation); }

  /// For tests.
  Table& detail() noexcept { return table_; }

 private:
  template <class T, std::size_t kWords>
  static T value_from(const std::array<std::uint64_t, kWords>& words) noexcept {
    T value;
    std::memcpy(static_cast<void*>(&value), words.data(), sizeof value);
    return value;
  }
  static Value value_of(const std::array<std::uint64_t, kValueWords>& words) noexcept {
    return value_from<Value>(words);
  }
  static auto words_of(const Value& value) noexcept {
    typename Table::Value words{};
    std::memcpy(words.data(), static_cast<const void*>(&value), sizeof value);
    return words;
  }
  static Asked asked(Operation operation, const Key& key, const Value& value = {}) noexcept {
    Asked asked{operation, 0, 0, {}, words_of(value)};
    std::memcpy(asked.key.data(), static_cast<const void*>(&key), sizeof key);
    return asked;
  }

  Table table_;
};

}  // namespace hashtable
