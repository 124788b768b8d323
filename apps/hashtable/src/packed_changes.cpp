// SPDX-License-Identifier: MIT
// PackedTable: changes on their way to their home, and what it does with them.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <span>
#include <vector>

#include "hashtable/detail/packed_table.hpp"

namespace hashtable::detail {
namespace {

using Words = std::span<const std::uint64_t>;

// A change lies in the memory of its home as these words, one change behind the other:
//
//     operation : 8, has a piece : 1 | hash | piece, if it has one | record
constexpr std::uint64_t kHasPiece = 1 << 8;

void append(std::vector<std::uint64_t>& words, std::span<const std::byte> bytes) {
  const std::size_t at = words.size();
  words.resize(at + Record::words_of(bytes.size()), 0);
  if (!bytes.empty()) std::memcpy(words.data() + at, bytes.data(), bytes.size());
}

Words take(Words& left, std::size_t count) noexcept {
  const Words taken = left.first(count);
  left = left.subspan(count);
  return taken;
}

/// What the slot of a key is asked, or told.
Status at_slot(Home& home, std::uint16_t rank, Operation operation, std::uint64_t key,
               const Piece& value, Piece* found = nullptr) {
  Status status;
  // Nobody else writes into this table's slots, so there is nothing to wait for.
  do {
    FixedTable<1, 3>::Asked asked{operation, rank, hash_of(&key, 1), {key}, value};
    status = FixedTable<1, 3>::answer(home, asked, rank);
    if (found != nullptr) *found = asked.value;
  } while (status == Status::kAgain);
  return status;
}

Status apply_one(Home& home, std::uint16_t rank, Operation operation, std::uint64_t key,
                 const Record& record, const Piece* seen) {
  const std::scoped_lock lock(home.changes());
  Piece old{};
  const bool known = at_slot(home, rank, Operation::kFind, key, {}, &old) == Status::kDone;
  if (seen != nullptr && (!known || old != *seen)) return Status::kDiffers;
  std::vector<std::uint64_t> piece;
  const Words before(home.words() + old[0], known ? old[1] : 0);
  const Record same = Record::find(before, record.key());
  const bool has = !same.words.empty();
  if (operation == Operation::kInsert && has) return Status::kExists;
  if ((operation == Operation::kUpdate || operation == Operation::kRemove) && !has) {
    return Status::kMissing;
  }
  for (Words left = before; !left.empty();) {
    const Record each = Record::first_of(left);
    left = left.subspan(each.words.size());
    if (each.words.data() != same.words.data()) {
      piece.insert(piece.end(), each.words.begin(), each.words.end());
    }
  }
  if (operation != Operation::kRemove) {
    piece.insert(piece.end(), record.words.begin(), record.words.end());
  }
  Status status;
  if (piece.empty()) {
    status = at_slot(home, rank, Operation::kRemove, key, {});
  } else {
    const auto place = home.put_piece(piece);
    if (!place) return Status::kFull;
    const Piece now{*place, piece.size(), check_bytes(piece.data(), piece.size())};
    status = at_slot(home, rank, known ? Operation::kUpdate : Operation::kInsert, key, now);
    if (status != Status::kDone) home.free_piece(*place, piece.size());
  }
  if (known && status == Status::kDone) home.free_piece(old[0], old[1]);
  return status;
}

}  // namespace

void PackedTable::stage(std::vector<std::uint64_t>& staged, Operation operation,
                        std::span<const std::byte> key, std::span<const std::byte> value,
                        const Piece* seen) const {
  staged.push_back(static_cast<std::uint64_t>(operation) | (seen != nullptr ? kHasPiece : 0));
  staged.push_back(key_of(key));
  if (seen != nullptr) staged.insert(staged.end(), seen->begin(), seen->end());
  staged.push_back(std::uint64_t{value.size()} << 32 | key.size());
  append(staged, key);
  append(staged, value);
}

void PackedTable::send_staged(std::uint32_t home) {
  const std::uint64_t place = table_.home().staging_of(table_.rank());
  table_.port(home).write_words(place, staged_.data(), staged_.size());
  const auto there = [at = table_.home_at(home), rank = static_cast<std::uint16_t>(home), place,
                      count = staged_.size()](dsfabric::CallContext& call) {
    Home& its = *at.get(call.fabric);
    return apply(its, rank, {its.words() + place, count});
  };
  const dsfabric::ThreadId to = table_.thread_of(home);
  if (options_.mode == Mode::kByCall) {
    last_.push_back(table_.calls().call_return(to, there));
  } else {
    dsfabric::SendChannel channel(table_.self().fabric());
    last_.push_back(channel.call_return(dsfabric::ThreadId::service_of(to.process), there));
  }
}

auto PackedTable::apply(Home& home, std::uint16_t rank, Words staged) -> Answers {
  Answers answers{};
  for (std::uint32_t i = 0; !staged.empty(); ++i) {
    const Words head = take(staged, 2);
    Piece seen{};
    const bool checks = (head[0] & kHasPiece) != 0;
    if (checks) std::ranges::copy(take(staged, seen.size()), seen.begin());
    const Record record = Record::first_of(staged);
    staged = staged.subspan(record.words.size());
    answers[i] = apply_one(home, rank, static_cast<Operation>(head[0] & 0xff), head[1], record,
                           checks ? &seen : nullptr);
  }
  return answers;
}

/// In a call, with its answer.
auto PackedTable::answer(Home& home, std::uint16_t rank, Words staged) -> Answer {
  /// Bytes of a value that is answered, at most: a status and a length come before it.
  constexpr std::size_t kMostAnswered = dsfabric::kMaxPackedResult - 16;
  if (static_cast<Operation>(staged[0]) != Operation::kFind) {
    return {apply(home, rank, staged)[0], {}};
  }
  const std::scoped_lock lock(home.changes());  // the piece stays where it is
  Piece piece{};
  if (at_slot(home, rank, Operation::kFind, staged[1], {}, &piece) != Status::kDone) {
    return {Status::kMissing, {}};
  }
  const Record record =
      Record::find({home.words() + piece[0], piece[1]}, Record::first_of(staged.subspan(2)).key());
  if (record.words.empty()) return {Status::kMissing, {}};
  if (record.value_bytes() > kMostAnswered) return {Status::kAgain, {}};
  return {Status::kDone, {record.value().begin(), record.value().end()}};
}

auto PackedTable::start(const PackedItem& item) -> std::optional<dsfabric::RemoteFuture<Answer>> {
  /// Bytes of a change that travels with its call, at most.
  constexpr std::size_t kMostCarried = dsfabric::kMaxCallable / 2;
  const bool finds = item.operation == Operation::kFind;
  if (!finds) check_size(item.key.size() + item.value.size());
  if (item.key.size() + (finds ? 0 : item.value.size()) > kMostCarried) return std::nullopt;
  std::vector<std::uint64_t> staged;
  stage(staged, item.operation, item.key, finds ? std::span<const std::byte>() : item.value);
  const std::uint32_t home = table_.home_of({staged[1]});
  const auto there = [at = table_.home_at(home)](dsfabric::CallContext& call,
                                                 const std::vector<std::uint64_t>& words) {
    return answer(*at.get(call.fabric), Table::rank_of(call), words);
  };
  return table_.aggregated_calls().call_return(table_.thread_of(home), there, staged);
}

Status PackedTable::change(Operation operation, std::span<const std::byte> key,
                           std::span<const std::byte> value, const Piece* seen) {
  check_size(key.size() + value.size());
  staged_.clear();
  stage(staged_, operation, key, value, seen);
  const std::uint32_t home = table_.home_of({staged_[1]});
  if (home == table_.rank()) return apply(table_.home(), table_.rank(), staged_)[0];
  send_staged(home);
  const Status status = last_.front().get()[0];
  last_.clear();
  return status;
}

}  // namespace hashtable::detail
