// SPDX-License-Identifier: MIT
// What a home does with the records in its pieces: it makes a new piece for each change.
#include "record_changes.hpp"

#include <span>
#include <vector>

#include "hashtable/detail/fixed_table.hpp"

namespace hashtable::detail {

Status at_slot(Home& home, std::uint16_t rank, Operation operation, std::uint64_t hash,
               const Piece& value, Piece* found) {
  Status status;
  // Nobody else writes into this table's slots, so there is nothing to wait for.
  do {
    FixedTable<1, 3>::Asked asked{operation, rank, hash_of(&hash, 1), {hash}, value};
    status = FixedTable<1, 3>::answer(home, asked, rank);
    if (found != nullptr) *found = asked.value;
  } while (status == Status::kAgain);
  return status;
}

Status change_record(Home& home, std::uint16_t rank, Operation operation, std::uint64_t hash,
                     const Record& record, const Piece* seen) {
  Piece old{};
  const bool known = at_slot(home, rank, Operation::kFind, hash, {}, &old) == Status::kDone;
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
    const Record each = Record::take(left);
    if (each.words.data() != same.words.data()) {
      piece.insert(piece.end(), each.words.begin(), each.words.end());
    }
  }
  if (operation != Operation::kRemove) {
    piece.insert(piece.end(), record.words.begin(), record.words.end());
  }
  Status status;
  if (piece.empty()) {
    status = at_slot(home, rank, Operation::kRemove, hash, {});
  } else {
    const auto place = home.put_piece(piece);
    if (!place) return Status::kFull;
    const Piece now{*place, piece.size(), check_bytes(piece.data(), piece.size())};
    status = at_slot(home, rank, known ? Operation::kUpdate : Operation::kInsert, hash, now);
    if (status != Status::kDone) home.free_piece(*place, piece.size());
  }
  if (known && status == Status::kDone) home.free_piece(old[0], old[1]);
  return status;
}

}  // namespace hashtable::detail
