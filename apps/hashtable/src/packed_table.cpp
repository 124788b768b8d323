// SPDX-License-Identifier: MIT
// PackedTable: finding records one by one, and the turns of those that change them.
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

/// Bytes of a change besides key and value, at most: the lengths and what fills up two words; and
/// operation, hash and piece.
constexpr std::size_t kOverhead = 24 + 40;

}  // namespace

Record Record::find(std::span<const std::uint64_t> piece, std::span<const std::byte> key) noexcept {
  while (!piece.empty()) {
    const Record record = take(piece);
    if (std::ranges::equal(record.key(), key)) return record;
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
  const std::uint32_t home = table_.home_of({key});
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
    // Homes may read the records of changes still that this worker did not wait for.
    for (auto& each : last_) {
      while (each.valid() && !each.ready()) (void)each.wait_for(std::chrono::milliseconds(10));
    }
    last_.clear();
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

void PackedTable::check_size(std::size_t bytes) const {
  if (bytes <= options_.max_entry) return;
  throw dtutils::Error(
      "hashtable::HashTable",
      fmt::format("an entry of {} bytes is larger than the largest, {}", bytes, options_.max_entry),
      "raise Options::max_entry");
}

}  // namespace hashtable::detail
