// SPDX-License-Identifier: MIT
// PackedTable: finding records, and changing them at their home.
#include "hashtable/detail/packed_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/wait_hook.hpp"

namespace hashtable::detail {
namespace {

/// Bytes of a record besides key and value, at most.
constexpr std::size_t kOverhead = 24;

void append(std::vector<std::uint64_t>& words, std::span<const std::byte> bytes) {
  const std::size_t at = words.size();
  words.resize(at + Record::words_of(bytes.size()), 0);
  if (!bytes.empty()) std::memcpy(words.data() + at, bytes.data(), bytes.size());
}

}  // namespace

Record Record::find(std::span<const std::uint64_t> piece, std::span<const std::byte> key) noexcept {
  while (!piece.empty()) {
    const Record record = first_of(piece);
    if (std::ranges::equal(record.key(), key)) return record;
    piece = piece.subspan(record.words.size());
  }
  return {};
}

PackedTable::PackedTable(dsfabric::Thread& self, const Options& options, const TypeNames& types)
    : table_(self, options, types,
             // What no part has room for is refused, however large it is.
             std::min(options.max_entry, std::numeric_limits<std::size_t>::max() / 2) + kOverhead),
      options_(options) {
  for (const Operation operation : kOperations) table_.by_call(operation, false);
}

std::uint64_t PackedTable::key_of(std::span<const std::byte> key) const noexcept {
  std::uint64_t hash = key.size() + 0x51'7cc1'b727'220a;
  for (std::size_t at = 0; at < key.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, key.data() + at, std::min<std::size_t>(8, key.size() - at));
    hash = mix(hash ^ word, 0xbf58'476d'1ce4'e5b9) + 0x94d0'49bb'1331'11eb;
  }
  return hash & mask_;
}

bool PackedTable::fetch(std::uint64_t key, Piece& named, std::vector<std::uint64_t>& piece) {
  const std::uint64_t hash = hash_of(&key, 1);
  const std::uint32_t home = home_of(hash, table_.parts());
  for (;;) {
    const auto [place, count, check] = named;
    piece.resize(count);
    if (home == table_.rank()) {
      for (std::size_t i = 0; i < count; ++i) piece[i] = load(table_.home().words() + place + i);
    } else {
      table_.port(home).read_words(place, piece.data(), count);
    }
    if (check_bytes(piece.data(), count) == check) return true;
    // It was changed after the slot was read: look again.
    Table::Asked asked{Operation::kFind, 0, 0, {key}, {}};
    if (table_.perform_one_sided(asked) != Status::kDone) return false;
    named = asked.value;
  }
}

auto PackedTable::find(std::span<const std::byte> key) -> std::optional<Found> {
  Table::Asked asked{Operation::kFind, 0, 0, {key_of(key)}, {}};
  if (table_.perform_one_sided(asked) != Status::kDone) return std::nullopt;
  if (!fetch(asked.key[0], asked.value, piece_)) return std::nullopt;
  const Record record = Record::find(piece_, key);
  if (record.words.empty()) return std::nullopt;
  return Found{record, asked.value};
}

void PackedTable::take_turn() {
  if (table_.self().in_handler() && !dtutils::wait_is_put_aside()) {
    throw dtutils::Error("hashtable::HashTable",
                         "a change in an inline handler would have to wait for the home",
                         "make the handler a fiber (riutils::in_fiber)");
  }
  dtutils::Synchronizer turn(1);
  if (!std::exchange(changing_, true)) {
    turn.decrement();
  } else {
    waiting_.push_back(&turn);
  }
  try {
    (void)turn.wait();
    // The home may read the record of a change still that this worker did not wait for.
    while (last_.valid() && !last_.ready()) (void)last_.wait_for(std::chrono::milliseconds(10));
  } catch (...) {
    if (turn.done()) {
      pass_turn();
    } else {
      std::erase(waiting_, &turn);
    }
    throw;
  }
}

void PackedTable::pass_turn() noexcept {
  if (waiting_.empty()) {
    changing_ = false;
    return;
  }
  dtutils::Synchronizer& next = *waiting_.front();
  waiting_.pop_front();
  next.decrement();
}

Status PackedTable::change(Operation operation, std::span<const std::byte> key,
                           std::span<const std::byte> value, const Piece* seen) {
  if (key.size() + value.size() > options_.max_entry) {
    throw dtutils::Error("hashtable::HashTable",
                         fmt::format("an entry of {} bytes is larger than the largest, {}",
                                     key.size() + value.size(), options_.max_entry),
                         "raise Options::max_entry");
  }
  record_.assign(1, std::uint64_t{value.size()} << 32 | key.size());
  append(record_, key);
  append(record_, value);
  const std::uint64_t hashed = key_of(key);
  const std::uint32_t home = home_of(hash_of(&hashed, 1), table_.parts());
  if (home == table_.rank()) {
    return apply(table_.home(), table_.rank(), operation, hashed, record_, seen);
  }
  table_.port(home).write_words(table_.home().staging_of(table_.rank()), record_.data(),
                                record_.size());
  const auto there = [at = table_.home_at(home), rank = static_cast<std::uint16_t>(home),
                      from = table_.rank(), operation, hashed, count = record_.size(),
                      checks = seen != nullptr,
                      piece = seen != nullptr ? *seen : Piece{}](dsfabric::CallContext& call) {
    Home& its = *at.get(call.fabric);
    return apply(its, rank, operation, hashed, {its.words() + its.staging_of(from), count},
                 checks ? &piece : nullptr);
  };
  const dsfabric::ThreadId to = table_.thread_of(home);
  if (options_.mode == Mode::kByCall) {
    last_ = table_.calls().call_return(to, there);
  } else {
    dsfabric::SendChannel channel(table_.self().fabric());
    last_ = channel.call_return(dsfabric::ThreadId::service_of(to.process), there);
  }
  return last_.get();
}

Status PackedTable::apply(Home& home, std::uint16_t rank, Operation operation, std::uint64_t key,
                          std::span<const std::uint64_t> words, const Piece* seen) {
  const std::scoped_lock lock(home.changes());
  const auto at_slot = [&](Operation what, const Piece& value, Piece* found = nullptr) {
    Status status;
    // Nobody else writes into this table's slots, so there is nothing to wait for.
    do {
      Table::Asked asked{what, rank, hash_of(&key, 1), {key}, value};
      status = Table::answer(home, asked, rank);
      if (found != nullptr) *found = asked.value;
    } while (status == Status::kAgain);
    return status;
  };
  const Record record{words};
  Piece old{};
  const bool known = at_slot(Operation::kFind, {}, &old) == Status::kDone;
  if (seen != nullptr && (!known || old != *seen)) return Status::kDiffers;
  std::vector<std::uint64_t> piece;
  const std::span<const std::uint64_t> before(home.words() + old[0], known ? old[1] : 0);
  const Record same = Record::find(before, record.key());
  const bool has = !same.words.empty();
  if (operation == Operation::kInsert && has) return Status::kExists;
  if ((operation == Operation::kUpdate || operation == Operation::kRemove) && !has) {
    return Status::kMissing;
  }
  for (std::span<const std::uint64_t> left = before; !left.empty();) {
    const Record each = Record::first_of(left);
    left = left.subspan(each.words.size());
    if (each.words.data() != same.words.data()) {
      piece.insert(piece.end(), each.words.begin(), each.words.end());
    }
  }
  if (operation != Operation::kRemove) piece.insert(piece.end(), words.begin(), words.end());
  Status status;
  if (piece.empty()) {
    status = at_slot(Operation::kRemove, {});
  } else {
    const auto place = home.put_piece(piece);
    if (!place) return Status::kFull;
    const Piece now{*place, piece.size(), check_bytes(piece.data(), piece.size())};
    status = at_slot(known ? Operation::kUpdate : Operation::kInsert, now);
    if (status != Status::kDone) home.free_piece(*place, piece.size());
  }
  if (known && status == Status::kDone) home.free_piece(old[0], old[1]);
  return status;
}

}  // namespace hashtable::detail
