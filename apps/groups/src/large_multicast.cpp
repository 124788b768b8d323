// SPDX-License-Identifier: MIT
// The protocol of a large multicast: announce, be ready, pass on, be finished.
#include "groups/large_multicast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "card.hpp"
#include "cell.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/error.hpp"
#include "dtutils/hashed_word.hpp"
#include "dtutils/limits.hpp"
#include "transfer.hpp"

namespace groups {

using detail::Card;
using detail::Cell;
using detail::kName;

namespace {

/// Requests that are not done, on one connection: from there on a post might have to wait.
constexpr std::uint64_t kOutstanding = dtutils::kSignalAllFrom - 2;
/// What peers may still write to and the device may still read, until the job is left.
struct Kept {
  std::mutex mutex;
  std::vector<dtutils::RDMAMemory> cells;
  std::vector<std::unique_ptr<detail::Transfer>> transfers;

  static Kept& of(dsfabric::Fabric& fabric) {
    static const char key = 0;
    return *static_cast<Kept*>(
        fabric.attachment(&key, [](dsfabric::Fabric&) { return std::make_shared<Kept>(); }).get());
  }
};

}  // namespace

LargeMulticast::LargeMulticast(dsfabric::Group& group, const LargeMulticastOptions& options,
                               LargeMulticastUpcalls upcalls)
    : group_(group),
      options_(options),
      upcalls_(std::move(upcalls)),
      rank_(group.rank()),
      members_(group.size()),
      lost_(members_) {
  detail::check(options);
  if (!upcalls_.received) {
    throw dtutils::Error(kName, "nobody takes what is received",
                         "set LargeMulticastUpcalls::received");
  }
  dsfabric::Thread& worker = group.worker();
  dsfabric::Fabric& fabric = worker.fabric();
  const std::size_t bytes = std::size_t{members_} * members_ * sizeof(Cell);
  cells_ = fabric.general_allocator(worker.zone()).allocate(bytes);
  std::memset(cells_.data(), 0, bytes);
  for (std::uint32_t root = 0; root < members_; ++root) {
    transfers_.push_back(std::make_unique<Transfer>());
    transfers_.back()->root = root;
  }
  const std::vector<Card> cards = group.all_gather(Card{options, cells_.remote()});
  detail::require_equal_options(cards);
  for (const Card& card : cards) remote_cells_.push_back(card.cells);
  // Whoever sends finds that all others have seen the options, and will not end here.
  try {
    group.barrier();
  } catch (...) {
    keep_memory();
    throw;
  }
}

LargeMulticast::~LargeMulticast() {
  if (lost_ != members_ || active_ != 0) keep_memory();
}

void LargeMulticast::keep_memory() {
  Kept& kept = Kept::of(group_.worker().fabric());
  const std::scoped_lock lock(kept.mutex);
  kept.cells.push_back(std::move(cells_));
  for (auto& transfer : transfers_) kept.transfers.push_back(std::move(transfer));
}

void LargeMulticast::begin(Transfer& transfer, std::uint64_t bytes, dtutils::RDMAMemory memory) {
  transfer.bytes = bytes;
  transfer.memory = std::move(memory);
  ++transfer.number;
  transfer.begin(options_.schedule, rank_, members_,
                 static_cast<std::uint32_t>((bytes + options_.block - 1) / options_.block));
  ++active_;
}

void LargeMulticast::send(const dtutils::RDMAMemory& memory, std::uint64_t bytes) {
  require_members();
  if (bytes > options_.max_message) {
    throw dtutils::Error(kName,
                         fmt::format("a message of {} bytes is longer than the limit of {} bytes",
                                     bytes, options_.max_message),
                         "raise LargeMulticastOptions::max_message at all members");
  }
  if (bytes > memory.size()) {
    throw dtutils::Error(
        kName, fmt::format("{} bytes were to be sent out of {} bytes", bytes, memory.size()),
        "give the memory that holds the message");
  }
  if (sending()) {
    throw dtutils::Error(kName, "the message before has not arrived everywhere",
                         "make progress() until sending() is false");
  }
  Transfer& transfer = *transfers_[rank_];
  begin(transfer, bytes, bytes == 0 ? dtutils::RDMAMemory() : memory.part(0, bytes));
  const dtutils::RemoteMemoryLocator announcement{.length = bytes};
  for (std::uint32_t peer = 0; peer < members_; ++peer) {
    if (peer != rank_) tell_buffer(transfer, peer, announcement);
  }
}

bool LargeMulticast::sending() const noexcept { return transfers_[rank_]->active; }

bool LargeMulticast::accept(Transfer& transfer) {
  const Cell& announced = cell(transfer.root, transfer.root);
  if (transfer.root == rank_ || dtutils::load_device_word(&announced.ready) == transfer.number) {
    return false;
  }
  const std::uint64_t bytes = announced.buffer.length;
  if (bytes > options_.max_message) [[unlikely]] {
    accuse(transfer.root, "it announces a large multicast above the limit that it agreed to");
    return false;
  }
  dsfabric::Thread& worker = group_.worker();
  dtutils::RDMAMemory memory;
  if (upcalls_.buffer) {
    memory = upcalls_.buffer(transfer.root, bytes);
  } else if (bytes != 0) {
    memory = worker.fabric().general_allocator(worker.zone()).allocate(bytes);
  }
  if (memory.size() < bytes) {
    throw dtutils::Error(kName,
                         fmt::format("a message of {} bytes from member {} got memory of {} bytes",
                                     bytes, transfer.root, memory.size()),
                         "let LargeMulticastUpcalls::buffer return enough");
  }
  begin(transfer, bytes, std::move(memory));
  for (std::uint32_t peer = 0; peer < members_; ++peer) {
    if (!transfer.receives.empty() && !transfer.receives[peer].empty()) {
      tell_buffer(transfer, peer, transfer.memory.remote());
    }
  }
  return true;
}

bool LargeMulticast::take_in(Transfer& transfer) noexcept {
  if (transfer.missing == 0) return false;
  const std::uint64_t before = transfer.missing;
  for (std::uint32_t peer = 0; peer < members_; ++peer) {
    const std::vector<std::uint32_t>& blocks = transfer.receives[peer];
    std::uint32_t& taken = transfer.taken[peer];
    if (taken == blocks.size()) continue;
    const std::uint64_t word = dtutils::load_device_word(&cell(transfer.root, peer).arrived);
    if (!dtutils::is_hashed_word(word, transfer.number)) continue;
    const std::uint64_t count = word & dtutils::kHashedMask;
    if (count > blocks.size()) [[unlikely]] {
      accuse(peer, "it claims to have sent more blocks of a large multicast than there are");
      break;
    }
    for (; taken < count; ++taken) {
      transfer.here[blocks[taken]] = true;
      --transfer.missing;
    }
  }
  return transfer.missing != before;
}

bool LargeMulticast::pass_on(Transfer& transfer) {
  if (transfer.sent == transfer.sends.size()) return false;
  const detail::Piece& piece = transfer.sends[transfer.sent];
  const Cell& peer = cell(transfer.root, piece.peer);
  if (!transfer.here[piece.block] || dtutils::load_device_word(&peer.ready) != transfer.number) {
    return false;
  }
  dtutils::Transmitter& to = transmitter(piece.peer);
  const auto is_full = [&] {
    return to.signaling().issued() - to.signaling().retired() > kOutstanding;
  };
  if (is_full() && (!to.progress() || is_full())) {
    if (to.broken()) lose(piece.peer);
    return false;
  }
  const std::uint64_t offset = std::uint64_t{piece.block} * options_.block;
  const auto bytes =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.block, transfer.bytes - offset));
  const std::uint64_t arrived = dtutils::hashed_word(++transfer.given[piece.peer], transfer.number);
  // The last word fails its Synchronizer by itself when it cannot be posted.
  const bool goes = to.write(transfer.memory.local(offset, bytes), peer.buffer.part(offset, bytes));
  const bool told = tell(transfer.root, piece.peer, offsetof(Cell, arrived), &arrived,
                         sizeof arrived, piece.last ? &transfer.posted : nullptr);
  ++transfer.sent;
  if (!goes || !told) lose(piece.peer);
  return true;
}

bool LargeMulticast::finish(Transfer& transfer) {
  if (transfer.missing != 0 || transfer.sent != transfer.sends.size()) return false;
  if (!transfer.posted.done()) {
    for (std::uint32_t peer = 0; peer < members_; ++peer) {
      if (transfer.given[peer] != 0) (void)transmitter(peer).progress();
    }
  }
  const auto outcome = transfer.posted.outcome();
  if (!outcome) return false;
  if (*outcome == dtutils::Synchronizer::Outcome::kFailed) {
    for (std::uint32_t peer = 0; peer < members_; ++peer) {
      if (transfer.given[peer] != 0 && transmitter(peer).broken()) lose(peer);
    }
  }
  if (transfer.root != rank_) {
    const std::uint64_t number = transfer.number;
    if (!tell(transfer.root, transfer.root, offsetof(Cell, finished), &number, sizeof number)) {
      lose(transfer.root);
    }
  } else {
    for (std::uint32_t peer = 0; peer < members_; ++peer) {
      const std::uint64_t finished = dtutils::load_device_word(&cell(rank_, peer).finished);
      if (peer != rank_ && finished != transfer.number) return false;
    }
  }
  transfer.active = false;
  --active_;
  dtutils::RDMAMemory memory = std::move(transfer.memory);
  if (transfer.root != rank_) upcalls_.received(transfer.root, std::move(memory), transfer.bytes);
  return true;
}

bool LargeMulticast::progress() {
  require_members();
  bool busy = false;
  for (const auto& transfer : transfers_) {
    if (!transfer->active) busy |= accept(*transfer);
    if (!transfer->active) continue;
    busy |= take_in(*transfer);
    busy |= pass_on(*transfer);
    busy |= finish(*transfer);
  }
  return busy;
}

}  // namespace groups
