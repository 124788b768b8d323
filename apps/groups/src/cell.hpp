// SPDX-License-Identifier: MIT
// What members of a large multicast write into each other's memory besides blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dtutils/memory_region.hpp"

namespace groups::detail {

/// A member has one of them for each pair (root, peer), at index root x members + peer. The peer
/// alone writes it, about the message that this root sends:
///
///     0        buffer     root: `length` is the bytes of the message; others: where blocks go
///     24       ready      number of the message, written after `buffer`
///     32       arrived    blocks that the peer has written here, hashed with the number of the
///                         message, since Soft-RoCE writes words in parts
///     40       finished   number of the message that the peer has whole; read by the root
///
/// Numbers count the messages of a root, from 1, so nothing is ever cleared. Each word is written
/// by one request behind what it tells, on the same queue pair.
struct alignas(64) Cell {
  dtutils::RemoteMemoryLocator buffer;
  std::uint64_t ready;
  std::uint64_t arrived;
  std::uint64_t finished;
};
static_assert(sizeof(Cell) == 64 && std::is_trivially_copyable_v<Cell>);
static_assert(offsetof(Cell, ready) == 24 && offsetof(Cell, finished) == 40);

}  // namespace groups::detail
