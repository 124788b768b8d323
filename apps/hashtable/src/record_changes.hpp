// SPDX-License-Identifier: MIT
// What a home does with the records in its pieces.
#pragma once

#include <cstdint>

#include "hashtable/detail/home.hpp"
#include "hashtable/detail/record.hpp"
#include "hashtable/options.hpp"

namespace hashtable::detail {

/// Asks the slot of the key with that hash, or tells it, as `operation` says: `value` is the piece
/// that it is to name, `found` gets the one that it names. `rank`: that of the home. Under
/// home.changes(), or where nobody else writes.
Status at_slot(Home& home, std::uint16_t rank, Operation operation, std::uint64_t hash,
               const Piece& value, Piece* found = nullptr);

/// Changes a record, of a key with that hash. `seen`: it takes place if the slot names that piece,
/// else the answer is kDiffers. kFull: there is no memory for a piece. Under home.changes().
Status change_record(Home& home, std::uint16_t rank, Operation operation, std::uint64_t hash,
                     const Record& record, const Piece* seen);

}  // namespace hashtable::detail
