// SPDX-License-Identifier: MIT
// Node: documents that come, here or at another process.
#include <algorithm>
#include <cmath>
#include <vector>

#include "block.hpp"
#include "checksum.hpp"
#include "dsfabric/peer_failed.hpp"
#include "dsfabric/send_channel.hpp"
#include "dsfabric/thread.hpp"
#include "dtutils/wait_hook.hpp"
#include "held.hpp"
#include "node.hpp"

namespace caching::detail {

namespace {

/// Tries of a put whose owner fails, or whose key is invalidated, in the middle.
constexpr int kPuts = 8;

}  // namespace

using dsfabric::CallStatus;
using dsfabric::ThreadId;

bool Node::may_wait() {
  const dsfabric::Thread* const worker = fabric().current_thread();
  return worker == nullptr || !worker->in_handler() || dtutils::wait_is_put_aside();
}

std::uint16_t Node::owner_of(const Name& name) const noexcept {
  if (options_.scheme == Scheme::kAc || options_.scheme == Scheme::kBcc) return peers_.self();
  // Weighted rendezvous hashing: each process gets its share by its memory, and when one fails,
  // only its own documents get another owner.
  std::uint16_t best = peers_.self();
  double most = -1;
  for (std::uint16_t process = 0; process < peers_.count(); ++process) {
    const Peer& peer = peers_[process];
    if (!peers_.usable(process) || (peer.lends != 0 && options_.scheme == Scheme::kCcwr)) continue;
    const std::uint64_t mixed = sum_word(sum_word(name.hash, process), 1);
    const double part = (static_cast<double>(mixed >> 12) + 0.5) * 0x1p-52;
    const double score = -static_cast<double>(peer.units) / std::log(part);
    if (score > most) {
      most = score;
      best = process;
    }
  }
  return best;
}

Stored Node::put(const Name& name, const Attributes& attributes, std::span<const std::byte> body,
                 Ticket ticket) {
  const std::uint64_t lengths[] = {name.key.size() + name.variant.size(),
                                   attributes.validator.size(), attributes.metadata.size()};
  const std::uint64_t most = peers_.units() * kUnit;
  if (lengths[0] > kNameMost || lengths[1] > most || lengths[2] > most || body.size() > most) {
    return Stored::kTooLarge;
  }
  const std::uint64_t units = units_for(Block::bytes_for(name, attributes, body.size()));
  for (int tries = 0; tries < kPuts; ++tries) {
    std::uint64_t epoch = ticket.epoch;
    if (epoch == 0) {
      Peers::Scratch scratch(peers_);
      if (!directory_.read(name.key_hash, scratch)) return Stored::kNoRoom;
      epoch = scratch->bucket.epoch + 1;
    }
    const std::uint16_t owner = owner_of(name);
    const Stored stored = put_once(name, attributes, body, epoch, units);
    // Again with the next owner, or without a ticket with the next epoch.
    if (stored == Stored::kOutdated ? ticket.epoch != 0
                                    : stored != Stored::kNoRoom || peers_.alive(owner)) {
      return stored;
    }
  }
  return Stored::kNoRoom;
}

Stored Node::put_once(const Name& name, const Attributes& attributes,
                      std::span<const std::byte> body, std::uint64_t ticket, std::uint64_t units) {
  const std::uint16_t owner = owner_of(name);
  const bool mine = owner == peers_.self();
  if (units > peers_[owner].units) return Stored::kTooLarge;
  const std::uint32_t entry = reserve(units, mine ? Use::kDocument : Use::kPass);
  if (entry == kNoEntry) return units > peers_.units() ? Stored::kTooLarge : Stored::kNoRoom;
  Held held(local_, entry);
  Block(local_.block(entry)).write(name, attributes, body, ticket);
  if (mine) {
    const bool listed = options_.scheme != Scheme::kAc;
    Peers::Scratch scratch(peers_);
    return keep(entry, name, listed, scratch) ? Stored::kHere : Stored::kOutdated;
  }
  held.release();
  const Stored stored = send(owner, entry, name);
  if (stored == Stored::kElsewhere) {
    // An older copy.
    Left left;
    local_.drop_name(name, left);
    take_out(left);
  }
  return stored;
}

Stored Node::send(std::uint16_t owner, std::uint32_t entry, const Name& name) {
  Held held(local_, entry);
  // Who has not answered is not waited for again.
  if (!may_wait() || sweep_abandoned(owner) || late_.is_late(owner)) return Stored::kNoRoom;
  auto slot = std::make_unique<dsfabric::ReturnSlot<StoreRequest::Answer>>(fabric());
  const Entry its = local_.entry(entry);
  const StoreRequest request{peers_[owner].node, its.units, its.block, 0};
  dsfabric::SendChannel calls(fabric());
  if (calls.call_return(ThreadId::service_of({owner}), request, *slot) != CallStatus::kAccepted) {
    return Stored::kNoRoom;
  }
  // From here on the owner may read the block, until it has answered.
  held.release();
  const auto abandon = [&] {
    const std::scoped_lock lock(abandoned_mutex_);
    abandoned_.push_back({std::move(slot), entry, owner});
  };
  try {
    if (slot->synchronizer().wait_for(options_.patience) ==
        dtutils::Synchronizer::Outcome::kTimeout) {
      abandon();
      return Stored::kNoRoom;
    }
  } catch (...) {
    abandon();
    throw;
  }
  const Held over(local_, entry);
  try {
    const StoreRequest::Answer answer = slot->get();
    if (answer.outdated != 0) return Stored::kOutdated;
    if (!answer.word) return Stored::kNoRoom;
    hints_.set(name.hash, {answer.word, 0});
    return Stored::kElsewhere;
  } catch (const dtutils::Error&) {
    return Stored::kNoRoom;  // the owner is gone
  }
}

bool Node::sweep_abandoned(std::uint16_t owner) {
  const std::scoped_lock lock(abandoned_mutex_);
  std::erase_if(abandoned_, [&](const Abandoned& each) {
    const bool over = each.slot->done();
    if (over) local_.unpin(each.entry);
    return over;
  });
  return std::ranges::any_of(abandoned_, [&](const auto& each) { return each.owner == owner; });
}

StoreRequest::Answer StoreRequest::operator()(dsfabric::CallContext& call) const {
  return reinterpret_cast<Node*>(node)->store(*this, call.source.process.value);
}

StoreRequest::Answer Node::store(const StoreRequest& request, std::uint16_t source) {
  constexpr StoreRequest::Answer kNothing{{}, 0};
  const std::uint64_t theirs = peers_[source].units;
  if (closed_.load(std::memory_order_acquire) || request.units == 0 ||
      request.block + request.units > theirs + passing_units(theirs) ||
      units_of_code(code_of_units(request.units)) != request.units) {
    return kNothing;
  }
  const std::uint32_t entry = reserve(request.units, Use::kDocument);
  if (entry == kNoEntry) return kNothing;
  const Held held(local_, entry);
  std::byte* const at = local_.block(entry);
  Peers::Scratch scratch(peers_);
  const Block block(at);
  if (!read_block(Word::of(0, source, request.units, request.block), at, &scratch->front,
                  request.units * kUnit) ||
      !block.is_sound(request.units * kUnit)) {
    return kNothing;
  }
  const Name name = name_of(block.key(), block.variant());
  if (!keep(entry, name, true, scratch)) return {{}, 1};
  return {Word::of(name.hash, peers_.self(), request.units, local_.entry(entry).block), 0};
}

}  // namespace caching::detail
