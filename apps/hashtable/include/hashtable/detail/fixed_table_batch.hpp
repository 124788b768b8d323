// SPDX-License-Identifier: MIT
// FixedTable: many operations at once: reads in flight, calls that carry many operations, and
// aggregated calls.
#pragma once

#include "hashtable/detail/fixed_table.hpp"

namespace hashtable::detail {

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
auto FixedTable<kKeyWords, kValueWords>::start(Asked& asked, const Value* expected)
    -> dsfabric::RemoteFuture<Answer<kValueWords>> {
  prepare(asked);
  const std::uint32_t home = detail::home_of(asked.hash, parts());
  const auto there = [at = homes_[home], asked](dsfabric::CallContext& call,
                                                const Value* its_expected = nullptr) {
    Asked mine = asked;
    const Status status = answer(*at.get(call.fabric), mine, rank_of(call), its_expected);
    return Answer<kValueWords>{status, mine.value};
  };
  if (expected == nullptr) {
    return futures_.call_return(thread_of(home),
                                [there](dsfabric::CallContext& call) { return there(call); });
  }
  return futures_.call_return(
      thread_of(home),
      [there, value = *expected](dsfabric::CallContext& call) { return there(call, &value); });
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
auto FixedTable<kKeyWords, kValueWords>::answer_batch(Home& home, BatchCall& call,
                                                      std::uint16_t rank) -> BatchAnswer {
  BatchAnswer answers;
  std::array<std::uint64_t, kBatch> hashes;
  for (std::uint32_t i = 0; i < call.count; ++i) {
    hashes[i] = hash_of(call.keys[i].data(), kKeyWords);
    home.prefetch_entry(hashes[i]);
  }
  for (std::uint32_t i = 0; i < call.count; ++i) home.prefetch_slot(hashes[i]);
  for (std::uint32_t i = 0; i < call.count; ++i) {
    Asked asked{call.operations[i], rank, hashes[i], call.keys[i], call.values[i]};
    const bool exchanges = call.exchanges_at(i);
    answers.statuses[i] = answer(home, asked, rank, exchanges ? &call.values[i + 1] : nullptr);
    answers.values[i] = asked.value;
    i += exchanges ? 1 : 0;
  }
  return answers;
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
void FixedTable<kKeyWords, kValueWords>::send(std::uint32_t home, Flight& flight) {
  flight.sent = true;
  (void)calls_.call_return(
      thread_of(home),
      [at = homes_[home], batch = flight.call](dsfabric::CallContext& call) mutable {
        return answer_batch(*at.get(call.fabric), batch, rank_of(call));
      },
      flight.answer);
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
void FixedTable<kKeyWords, kValueWords>::finish(Flight& flight) {
  flight.sent = false;
  const BatchAnswer answers = flight.answer.get();
  for (std::uint32_t i = 0; i < flight.call.count; ++i) {
    flight.items[i]->status = answers.statuses[i];
    flight.items[i]->request.value = answers.values[i];
    i += flight.call.exchanges_at(i) ? 1 : 0;
  }
  flight.call.clear();
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
template <class AnyItem>
auto FixedTable<kKeyWords, kValueWords>::sort(std::span<AnyItem> items) const noexcept
    -> Sorted<AnyItem> {
  Sorted<AnyItem> sorted;
  for (AnyItem& item : items) {
    item.status = Status::kAgain;
    prepare(item.request);
    // Without a branch: chance decides, so a processor cannot foresee it.
    const bool here = detail::home_of(item.request.hash, parts()) == rank_;
    sorted.here[sorted.count_here] = &item;
    sorted.elsewhere[sorted.count_elsewhere] = &item;
    sorted.count_here += here;
    sorted.count_elsewhere += !here;
  }
  for (std::uint32_t i = 0; i < sorted.count_here; ++i) {
    home_.prefetch_entry(sorted.here[i]->request.hash);
  }
  for (std::uint32_t i = 0; i < sorted.count_here; ++i) {
    home_.prefetch_slot(sorted.here[i]->request.hash);
  }
  return sorted;
}

template <std::uint32_t kKeyWords, std::uint32_t kValueWords>
template <class AnyItem>
void FixedTable<kKeyWords, kValueWords>::perform(std::span<AnyItem> items) {
  if (batch_runs_) {  // a fiber of this worker is in the middle of one
    for (AnyItem& item : items) item.status = perform(item.request, expected_of(item));
    return;
  }
  batch_runs_ = true;
  const struct End {
    FixedTable& table;
    ~End() {
      table.batch_runs_ = false;
      for (auto& flights : table.flights_) {
        // After an exception: a slot that is pending is not used again.
        for (auto& flight : flights->flights) {
          if (flight && flight->sent) flight.reset();
          if (flight) flight->call.clear();
        }
      }
    }
  } end{*this};
  if (flights_.empty()) {
    for (std::uint32_t i = 0; i < parts(); ++i) flights_.push_back(std::make_unique<Flights>());
  }

  /// Reads that are on their way.
  struct Reads {
    struct Started {
      AnyItem* item;
      RemotePort* port;
      BucketWord bucket;
      std::uint32_t home;
    };
    std::array<Started, kInFlight> started;
    std::uint32_t count = 0;
    ~Reads() { (void)drain(); }
    /// A port that has failed, or nullptr.
    RemotePort* drain() noexcept {
      RemotePort* failed = nullptr;
      for (std::uint32_t i = 0; i < count; ++i) started[i].port->start_last();
      for (std::uint32_t i = 0; i < count; ++i) {
        if (!started[i].port->drain()) failed = started[i].port;
      }
      return failed;
    }
  } reads;
  const auto end_reads = [&] {
    RemotePort* const failed = reads.drain();
    const std::uint32_t count = std::exchange(reads.count, 0);
    if (failed != nullptr) failed->throw_gone("a read");
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto& read = reads.started[i];
      read.item->status = one_sided(read.home, read.item->request, read.port->copy(i + 1),
                                    read.bucket, expected_of(*read.item));
    }
  };

  const auto go = [&](AnyItem& item) {
    Asked& asked = item.request;
    const std::uint32_t home = detail::home_of(asked.hash, parts());
    if (by_call(asked.operation)) {
      Flights& flights = *flights_[home];
      auto& flight = flights.flights[flights.next];
      if (!flight) flight.emplace(self_.fabric());
      if (flight->sent) finish(*flight);
      const std::uint32_t at = flight->call.count++;
      flight->call.operations[at] = asked.operation;
      flight->call.keys[at] = asked.key;
      flight->call.values[at] = asked.value;
      flight->items[at] = &item;
      if (const Value* const expected = expected_of(item)) {
        flight->call.exchanges |= 1u << at;
        const std::uint32_t behind = flight->call.count++;
        flight->call.operations[behind] = asked.operation;
        flight->call.keys[behind] = asked.key;
        flight->call.values[behind] = *expected;
      }
      // The next one has room.
      constexpr std::uint32_t kPlaces = std::is_same_v<AnyItem, Exchange> ? 2 : 1;
      if (flight->call.count + kPlaces > kBatch) {
        send(home, *flight);
        flights.next = (flights.next + 1) % kFlights;
      }
    } else if (asked.operation != Operation::kInsert) {  // a look at the block comes first
      RemotePort& port = *ports_[home];
      const BucketWord bucket = port.bucket_of(asked.hash);
      reads.started[reads.count++] = {&item, &port, bucket, home};
      port.start(reads.count, bucket.index());
      if (reads.count == kInFlight) end_reads();
    } else {
      item.status = one_sided(home, asked);
    }
  };
  for (std::size_t begin = 0; begin < items.size(); begin += kSorted) {
    const Sorted<AnyItem> sorted =
        sort(items.subspan(begin, std::min<std::size_t>(kSorted, items.size() - begin)));
    for (std::uint32_t i = 0; i < sorted.count_elsewhere; ++i) go(*sorted.elsewhere[i]);
    for (std::uint32_t i = 0; i < sorted.count_here; ++i) {
      AnyItem& item = *sorted.here[i];
      item.status = local(item.request, expected_of(item));
    }
  }
  if (reads.count != 0) end_reads();
  for (std::uint32_t home = 0; home < parts(); ++home) {
    for (auto& flight : flights_[home]->flights) {
      if (flight && !flight->sent && flight->call.count != 0) send(home, *flight);
    }
  }
  for (auto& flights : flights_) {
    for (auto& flight : flights->flights) {
      if (flight && flight->sent) finish(*flight);
    }
  }
  for (AnyItem& item : items) {
    if (item.status != Status::kAgain) continue;
    item.status = perform_prepared(item.request, expected_of(item));
  }
}

}  // namespace hashtable::detail
