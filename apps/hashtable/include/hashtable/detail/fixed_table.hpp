// SPDX-License-Identifier: MIT
// A table of keys and values of a fixed number of words: the operations, and who waits for what.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dsfabric/global_ptr.hpp"
#include "dsfabric/send_channel.hpp"
#include "hashtable/cost.hpp"
#include "hashtable/detail/attempt.hpp"
#include "hashtable/detail/cache.hpp"
#include "hashtable/detail/meeting.hpp"
#include "hashtable/detail/ports.hpp"
#include "riutils/riutils.hpp"

namespace hashtable::detail {

/// One operation of a batch.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
struct BatchItem {
  /// What is to be done, and the value that was found.
  Request<kKeyWords, kValueWords> request;
  /// The answer.
  Status status = Status::kAgain;
};

/// One compare_exchange of a batch: an update, and the value that it expects.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
struct BatchExchange : BatchItem<kKeyWords, kValueWords> {
  /// See FixedTable::perform.
  std::array<std::uint64_t, kValueWords> expected;
};

/// What a call answers.
template <std::uint32_t kValueWords>
struct Answer {
  /// The answer.
  Status status;
  /// The value that was found.
  std::array<std::uint64_t, kValueWords> value;
};

/// The untyped table. All methods: owner thread only, which is that of its worker; they throw
/// PeerFailed when the home of the key is gone.
template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
class FixedTable {
 public:
  /// The layout of its blocks.
  static constexpr Shape kShape = shape_of(kKeyWords, kValueWords);
  /// What an operation is made of.
  using Asked = Request<kKeyWords, kValueWords>;
  /// The words of a value.
  using Value = std::array<std::uint64_t, kValueWords>;
  /// See BatchItem.
  using Item = BatchItem<kKeyWords, kValueWords>;
  /// See BatchExchange.
  using Exchange = BatchExchange<kKeyWords, kValueWords>;

  /// A collective of all workers. Throws Error when they give other types or options, or there is
  /// no memory. `staging`: bytes for each worker at each home. Setup only.
  FixedTable(dsfabric::Thread& self, const Options& options, const TypeNames& types,
             std::size_t staging)
      : self_(self),
        rank_(static_cast<std::uint16_t>(self.fabric().rank_of(self.id()))),
        home_(self, kShape, options, staging),
        local_(home_),
        calls_(self),
        futures_(self),
        answer_(self.fabric()) {
    places_ = meet(self, home_, options, types);
    for (std::uint32_t rank = 0; rank < places_.size(); ++rank) {
      const dsfabric::ThreadId thread = self.fabric().thread_of_rank(rank);
      homes_.emplace_back(thread.process, places_[rank].home);
      ports_.push_back(
          rank == rank_ ? nullptr
                        : std::make_unique<RemotePort>(self, thread, places_[rank].region, kShape));
    }
    if (options.mode == Mode::kCached) cache_.resize(options.cached);
    by_call_.fill(options.mode == Mode::kByCall);
    self.barrier();  // nobody calls before all are ready
  }
  FixedTable(const FixedTable&) = delete;
  FixedTable& operator=(const FixedTable&) = delete;

  /// Does an operation. `asked` has operation, key and the value to be written, if any.
  /// `expected`: the operation is an update, which takes place if the key has this value. kDiffers:
  /// it has another one, which `asked` gets.
  Status perform(Asked& asked, const Value* expected = nullptr) {
    prepare(asked);
    return perform_prepared(asked, expected);
  }
  /// Does it by operations on memory only, in whatever mode the table is.
  Status perform_one_sided(Asked& asked) {
    prepare(asked);
    const std::uint32_t home = detail::home_of(asked.hash, parts());
    return home == rank_ ? local(asked) : one_sided(home, asked);
  }
  /// Does all of them, in no fixed order: Item or Exchange.
  template <class AnyItem>
  void perform(std::span<AnyItem> items);
  /// Starts one by an aggregated call: the future has the status, or kAgain, then perform() it.
  dsfabric::RemoteFuture<Answer<kValueWords>> start(Asked& asked, const Value* expected = nullptr);
  /// Sends the calls that start() has made.
  void flush() noexcept { (void)futures_.flush(); }

  /// Calls f(key words, value words) for each entry. Throws PeerFailed of the first home that is
  /// gone, behind the entries of all others.
  template <class F>
  void for_each(F&& f);

  /// Which operations go by call.
  void by_call(Operation operation, bool wanted) noexcept {
    by_call_[static_cast<std::size_t>(operation)] = wanted;
  }
  /// See above.
  bool by_call(Operation operation) const noexcept {
    return by_call_[static_cast<std::size_t>(operation)];
  }

  /// The part of this worker. Any thread of the process.
  Home& home() noexcept { return home_; }
  /// That of a rank.
  dsfabric::GlobalPtr<Home> home_at(std::uint32_t rank) const noexcept { return homes_[rank]; }
  /// The memory of a part. Any thread.
  dtutils::RemoteMemoryLocator region_of(std::uint32_t rank) const noexcept {
    return places_[rank].region;
  }
  /// The way to the part of another rank.
  RemotePort& port(std::uint32_t rank) noexcept { return *ports_[rank]; }
  /// The number of this worker, and of all of them.
  std::uint16_t rank() const noexcept { return rank_; }
  /// Workers of the job.
  std::uint32_t parts() const noexcept { return static_cast<std::uint32_t>(ports_.size()); }
  /// The worker.
  dsfabric::Thread& self() const noexcept { return self_; }
  /// By its rank.
  dsfabric::ThreadId thread_of(std::uint32_t rank) const noexcept {
    return self_.fabric().thread_of_rank(rank);
  }
  /// The rank of a key's home.
  std::uint32_t home_of(const std::array<std::uint64_t, kKeyWords>& key) const noexcept {
    return detail::home_of(hash_of(key.data(), kKeyWords), parts());
  }
  /// What this worker keeps.
  const Cache<kKeyWords, kValueWords>& cache() const noexcept { return cache_; }
  /// For single calls.
  riutils::RDMAMessengerGlobal& calls() noexcept { return calls_; }
  /// For those that flush() sends.
  riutils::RDMAAggregator& aggregated_calls() noexcept { return futures_; }

  /// Of the home that a call has come to.
  static std::uint16_t rank_of(const dsfabric::CallContext& call) noexcept {
    return static_cast<std::uint16_t>(call.fabric.rank_of(call.worker->id()));
  }
  /// Runs an operation at the home of its key; kAgain where it would have to wait. `expected`: see
  /// perform(). Any thread of the home's process; `rank` is that of the home.
  static Status answer(Home& home, Asked& asked, std::uint16_t rank,
                       const Value* expected = nullptr);

 private:
  /// What one call carries.
  static constexpr std::uint32_t kBatch = std::clamp<std::uint32_t>(
      (dsfabric::kMaxCallable - 64) / (8 * (kKeyWords + kValueWords) + 1), 1, kCallBatch);
  static_assert(kBatch >= 2 && kBatch <= 32);
  struct BatchCall {
    /// Places that are taken.
    std::uint32_t count = 0;
    /// A bit for each operation that expects a value, which lies at the place behind its own.
    std::uint32_t exchanges = 0;
    std::array<Operation, kBatch> operations;
    std::array<std::array<std::uint64_t, kKeyWords>, kBatch> keys;
    std::array<std::array<std::uint64_t, kValueWords>, kBatch> values;

    bool exchanges_at(std::uint32_t place) const noexcept { return (exchanges >> place & 1) != 0; }
    void clear() noexcept { count = exchanges = 0; }
  };
  struct BatchAnswer {
    std::array<Status, kBatch> statuses;
    std::array<std::array<std::uint64_t, kValueWords>, kBatch> values;
  };
  /// A call of a batch that is on its way.
  struct Flight {
    explicit Flight(dsfabric::Fabric& fabric) : answer(fabric) {}
    dsfabric::ReturnSlot<BatchAnswer> answer;
    BatchCall call;
    std::array<Item*, kBatch> items;
    bool sent = false;
  };
  /// Calls of a batch that are on their way to one home.
  static constexpr std::uint32_t kFlights = 8;
  struct Flights {
    std::array<std::optional<Flight>, kFlights> flights;
    std::uint32_t next = 0;
  };

  /// Items that a batch looks at together.
  static constexpr std::uint32_t kSorted = 2 * kCallBatch;
  /// Those whose home is here, and the others.
  template <class AnyItem>
  struct Sorted {
    std::array<AnyItem*, kSorted> here;
    std::array<AnyItem*, kSorted> elsewhere;
    std::uint32_t count_here = 0;
    std::uint32_t count_elsewhere = 0;
  };

  void prepare(Asked& asked) const noexcept {
    asked.me = rank_;
    asked.hash = hash_of(asked.key.data(), kKeyWords);
  }
  /// Prepares at most kSorted items, and asks for the memory of those whose home is here.
  template <class AnyItem>
  Sorted<AnyItem> sort(std::span<AnyItem> items) const noexcept;
  static const Value* expected_of(const Item&) noexcept { return nullptr; }
  static const Value* expected_of(const Exchange& item) noexcept { return &item.expected; }
  Status perform_prepared(Asked& asked, const Value* expected = nullptr) {
    const std::uint32_t home = detail::home_of(asked.hash, parts());
    if (home == rank_) return local(asked, expected);
    if (by_call(asked.operation)) {
      return expected == nullptr ? called(home, asked) : called(home, asked, *expected);
    }
    if (cache_.wanted() && asked.operation == Operation::kFind && find_kept(home, asked)) {
      return Status::kDone;
    }
    return one_sided(home, asked, nullptr, {}, expected);
  }
  /// Answers a find from the cache, if the slot's word is the same still.
  bool find_kept(std::uint32_t home, Asked& asked) {
    const auto& line = cache_.line(asked.hash);
    ++cache_.looks;
    if (line.word.raw == 0 || line.hash != asked.hash || line.key != asked.key) return false;
    if (ports_[home]->read_word(line.block, line.at) != line.word.raw) return false;
    ++cache_.hits;
    asked.value = line.value;
    return true;
  }
  void keep(const Asked& asked, BucketWord bucket, const Seen<kValueWords>& seen) noexcept {
    cache_.line(asked.hash) = {seen.word,  asked.hash,     asked.key,
                               seen.value, bucket.index(), kShape.word_at(seen.slot)};
  }
  /// The answer of a try, for whose sake alone `asked` loses the value to be written.
  static Status concluded(Asked& asked, Status status, const Seen<kValueWords>& seen) noexcept {
    if (status == Status::kDiffers) asked.value = seen.value;
    return status;
  }
  Status local(Asked& asked, const Value* expected = nullptr);
  Status one_sided(std::uint32_t home, Asked& asked, const std::uint64_t* copy = nullptr,
                   BucketWord bucket = {}, const Value* expected = nullptr);
  Status called(std::uint32_t home, Asked& asked);
  template <Operation kOperation>
  Status called(std::uint32_t home, Asked& asked);
  Status called(std::uint32_t home, Asked& asked, const Value& expected);
  /// Calls the home until it answers something else than kAgain.
  template <class F>
  Status call_home(std::uint32_t home, const F& at_home, Value& value);
  void finish(Flight& flight);
  void send(std::uint32_t home, Flight& flight);
  static BatchAnswer answer_batch(Home& home, BatchCall& call, std::uint16_t rank);
  Room ask_for_room(std::uint32_t home, std::uint64_t hash, BucketWord bucket);
  void ask_for_repair(std::uint32_t home, const Attempt& tried);
  bool gone(std::uint16_t rank) const noexcept {
    const dsfabric::Fabric& fabric = self_.fabric();
    return fabric.state(fabric.thread_of_rank(rank).process) != dsfabric::PeerState::kActive;
  }

  dsfabric::Thread& self_;
  const std::uint16_t rank_;
  Home home_;
  LocalPort local_;
  riutils::RDMAMessengerGlobal calls_;
  riutils::RDMAAggregator futures_;
  dsfabric::ReturnSlot<Answer<kValueWords>> answer_;
  bool answer_in_use_ = false;
  bool batch_runs_ = false;
  std::vector<Place> places_;
  std::vector<dsfabric::GlobalPtr<Home>> homes_;
  std::vector<std::unique_ptr<RemotePort>> ports_;
  std::vector<std::unique_ptr<Flights>> flights_;
  Cache<kKeyWords, kValueWords> cache_;
  std::array<bool, kOperations.size()> by_call_{};
};

}  // namespace hashtable::detail

#include "hashtable/detail/fixed_table_batch.hpp"
#include "hashtable/detail/fixed_table_single.hpp"
