// SPDX-License-Identifier: MIT
// What a member of a large multicast tells its peers, and which of them it has lost.
#include <cstddef>
#include <cstdint>
#include <string>

#include "cell.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dsfabric/thread.hpp"
#include "groups/large_multicast.hpp"
#include "transfer.hpp"

namespace groups {

using detail::Cell;

Cell& LargeMulticast::cell(std::uint32_t root, std::uint32_t peer) const noexcept {
  return reinterpret_cast<Cell*>(cells_.data())[std::size_t{root} * members_ + peer];
}

dtutils::Transmitter& LargeMulticast::transmitter(std::uint32_t peer) const noexcept {
  return group_.worker().transmitter(group_.member(peer).process);
}

bool LargeMulticast::tell(std::uint32_t root, std::uint32_t peer, std::size_t offset,
                          const void* what, std::uint32_t bytes,
                          dtutils::Synchronizer* sent) noexcept {
  dtutils::PostOptions options(dtutils::kInlined);
  options.sent = sent;
  const std::size_t at = (std::size_t{root} * members_ + rank_) * sizeof(Cell) + offset;
  return transmitter(peer).write({const_cast<void*>(what), bytes, 0},
                                 remote_cells_[peer].part(at, bytes), options);
}

void LargeMulticast::tell_buffer(const Transfer& transfer, std::uint32_t peer,
                                 const dtutils::RemoteMemoryLocator& buffer) {
  const std::uint64_t number = transfer.number;
  if (!tell(transfer.root, peer, offsetof(Cell, buffer), &buffer, sizeof buffer) ||
      !tell(transfer.root, peer, offsetof(Cell, ready), &number, sizeof number)) {
    lose(peer);
  }
}

void LargeMulticast::lose(std::uint32_t peer) {
  lost_ = peer;
  const dsfabric::ProcessId process = group_.member(peer).process;
  const std::string reason = group_.worker().fabric().failure_reason(process);
  throw dsfabric::PeerFailed(process, "a large multicast",
                             reason.empty() ? "the connection to it is broken" : reason);
}

void LargeMulticast::accuse(std::uint32_t peer, const char* of) noexcept {
  group_.worker().fabric().fail(group_.member(peer).process, of);
}

void LargeMulticast::require_members() {
  if (lost_ != members_) lose(lost_);
  dsfabric::Fabric& fabric = group_.worker().fabric();
  const std::uint32_t failures = fabric.failures();
  if (failures == failures_) return;
  for (std::uint32_t peer = 0; peer < members_; ++peer) {
    if (fabric.failed(group_.member(peer).process)) lose(peer);
  }
  failures_ = failures;
}

}  // namespace groups
