// SPDX-License-Identifier: MIT
// PackedTable: single operations by aggregated calls, which carry what they need.
#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "hashtable/detail/packed_table.hpp"
#include "record_changes.hpp"
#include "staged.hpp"

namespace hashtable::detail {

/// In a call, with its answer.
auto PackedTable::answer(Home& home, std::uint16_t rank, Words staged) -> Answer {
  /// Bytes of a value that is answered, at most: a status and a length come before it.
  constexpr std::size_t kMostAnswered = dsfabric::kMaxPackedResult - 16;
  if (static_cast<Operation>(staged[0]) != Operation::kFind && (staged[0] & kExpects) == 0) {
    return {apply(home, rank, staged)[0], {}};
  }
  const Words head = take(staged, 2);
  const bool expects = (head[0] & kExpects) != 0;
  const Record expected = expects ? Record::take(staged) : Record{};
  const Record asked = Record::take(staged);
  const std::scoped_lock lock(home.changes());  // the piece stays where it is
  Piece piece{};
  if (at_slot(home, rank, Operation::kFind, head[1], {}, &piece) != Status::kDone) {
    return {Status::kMissing, {}};
  }
  const Record record = Record::find({home.words() + piece[0], piece[1]}, asked.key());
  if (record.words.empty()) return {Status::kMissing, {}};
  if (expects && std::ranges::equal(record.value(), expected.value())) {
    return {change_record(home, rank, Operation::kUpdate, head[1], asked, &piece), {}};
  }
  if (record.value_bytes() > kMostAnswered) return {Status::kAgain, {}};
  return {expects ? Status::kDiffers : Status::kDone,
          {record.value().begin(), record.value().end()}};
}

auto PackedTable::start(const PackedItem& item) -> std::optional<dsfabric::RemoteFuture<Answer>> {
  const bool finds = item.operation == Operation::kFind;
  if (!finds) check_size(item.key.size() + item.value.size());
  std::vector<std::uint64_t> staged;
  stage(staged, item.operation, item.key, finds ? std::span<const std::byte>() : item.value);
  return start_staged(staged);
}

auto PackedTable::start(const PackedExchange& exchange)
    -> std::optional<dsfabric::RemoteFuture<Answer>> {
  const std::vector<std::byte>& key = exchange.item.key;
  check_size(key.size() + exchange.desired.size());
  std::vector<std::uint64_t> staged{static_cast<std::uint64_t>(Operation::kUpdate) | kExpects,
                                    key_of(key)};
  append_record(staged, {}, exchange.expected);
  append_record(staged, key, exchange.desired);
  return start_staged(staged);
}

auto PackedTable::start_staged(const std::vector<std::uint64_t>& staged)
    -> std::optional<dsfabric::RemoteFuture<Answer>> {
  /// Bytes of a key and values that travel with a call, at most, and what is around them.
  constexpr std::size_t kMostCarried = dsfabric::kMaxCallable / 2 + 8 * sizeof staged[0];
  if (staged.size() * sizeof staged[0] > kMostCarried) return std::nullopt;
  const std::uint32_t home = table_.home_of({staged[1]});
  const auto there = [at = table_.home_at(home)](dsfabric::CallContext& call,
                                                 const std::vector<std::uint64_t>& words) {
    return answer(*at.get(call.fabric), Table::rank_of(call), words);
  };
  return table_.aggregated_calls().call_return(table_.thread_of(home), there, staged);
}

}  // namespace hashtable::detail
