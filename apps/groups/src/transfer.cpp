// SPDX-License-Identifier: MIT
// The part of one member in a schedule.
#include "transfer.hpp"

namespace groups::detail {

void Transfer::begin(Schedule schedule, std::uint32_t rank, std::uint32_t members,
                     std::uint32_t of_blocks) {
  if (of_blocks != blocks) {
    sends.clear();
    receives.assign(members, {});
    for (const Hop& hop : hops(schedule, members, of_blocks)) {
      const std::uint32_t from = (hop.from + root) % members;
      const std::uint32_t to = (hop.to + root) % members;
      if (from == rank) sends.push_back({to, hop.block, false});
      if (to == rank) receives[from].push_back(hop.block);
    }
    std::vector<bool> seen(members);
    for (auto piece = sends.rbegin(); piece != sends.rend(); ++piece) {
      piece->last = !seen[piece->peer];
      seen[piece->peer] = true;
    }
    blocks = of_blocks;
  }
  sent = 0;
  missing = rank == root ? 0 : of_blocks;
  here.assign(of_blocks, rank == root);
  taken.assign(members, 0);
  given.assign(members, 0);
  for (const Piece& piece : sends) posted.expect(piece.last ? 1 : 0);
  active = true;
}

}  // namespace groups::detail
