// SPDX-License-Identifier: MIT
// One message as a member sees it: its part of the schedule, and how far it has come.
#pragma once

#include <cstdint>
#include <vector>

#include "dtutils/rdma_memory.hpp"
#include "dtutils/synchronizer.hpp"
#include "groups/schedule.hpp"

namespace groups::detail {

/// A block that goes to a peer.
struct Piece {
  std::uint32_t peer;
  std::uint32_t block;
  /// Of all that goes to that peer in this message.
  bool last;
};

/// Of one root; used for its messages one after the other. Owner thread only.
struct Transfer {
  std::uint32_t root = 0;
  /// Of the message, from 1.
  std::uint32_t number = 0;
  bool active = false;
  std::uint64_t bytes = 0;
  /// From when this member has it until it is handed out.
  dtutils::RDMAMemory memory;

  /// What the next two are made for: they are the same for all messages of so many blocks.
  std::uint32_t blocks = 0;
  /// In the order of the schedule.
  std::vector<Piece> sends;
  /// By peer, the blocks in the order in which it sends them.
  std::vector<std::vector<std::uint32_t>> receives;

  /// Of `sends`, posted.
  std::size_t sent = 0;
  /// Ends with the last request to each peer.
  dtutils::Synchronizer posted{0};
  /// Blocks that have not arrived.
  std::uint64_t missing = 0;
  /// By block, whether it is here.
  std::vector<bool> here;
  /// By peer, how many of `receives` have arrived.
  std::vector<std::uint32_t> taken;
  /// By peer, blocks that were sent to it.
  std::vector<std::uint32_t> given;

  /// Makes the lists for the member of this rank, and sets it to the beginning. Setup only.
  void begin(Schedule schedule, std::uint32_t rank, std::uint32_t members, std::uint32_t of_blocks);
};

}  // namespace groups::detail
