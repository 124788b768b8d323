// SPDX-License-Identifier: MIT
// A connection that several processes have, of which the one that had its stream has died.
#include <algorithm>
#include <cstring>

#include "cursor.hpp"
#include "packetized.hpp"

namespace streams {
namespace {

/// The low bits of a count.
constexpr std::uint64_t low(std::uint64_t count, unsigned bits) noexcept {
  return count & ((std::uint64_t{1} << bits) - 1);
}

}  // namespace

void Packetized::announce_sharing(bool shared) noexcept {
  shared_ = shared;
  if (shared) pack_until_ = 0;
  await_room(kRoomToReturn);
  if (!link_.broken()) tell_feedback();
  // Sends what is packed.
  poll();
}

/// Requests that were posted after the death of the peer have failed at once. Those before were
/// done.
bool Packetized::sent_to_the_dead() noexcept {
  poll_sends();
  if (!link_.broken()) return false;
  look_at_sent();
  return !peer_closed();
}

bool Packetized::awaits_survivor() noexcept {
  if (!link_.broken() || peer_closed() || !link_.on_shm()) return false;
  read_feedback();
  return shared_there_;
}

bool Packetized::has_all(std::uint64_t word) const noexcept {
  // The bytes that came are in this ring, however far the dead process had come in saying so.
  return dtutils::is_hashed_word(word, kSurvivorWord) &&
         ahead_of(word & dtutils::kHashedMask, arrived_, kWrittenBits) <= 0;
}

std::optional<std::uint64_t> Packetized::survivor_word() const noexcept {
  const std::uint64_t packed = load(board().published.packed);
  if (!link_.on_shm() || !dtutils::is_hashed_word(packed, kPackedWord)) return std::nullopt;
  const std::uint64_t written = (packed & dtutils::kHashedMask) >> kPackedBits;
  return dtutils::hashed_word(low(written + low(packed, kPackedBits), kWrittenBits), kSurvivorWord);
}

std::uint64_t Packetized::owner_was_sent() const noexcept {
  const std::uint64_t received = owner_received();
  const std::uint64_t word = load(board().sent);
  if (!dtutils::is_hashed_word(word, kSentWord)) return received;
  // What was fetched is not told of.
  return received + static_cast<std::uint64_t>(
                        std::max<std::int64_t>(ahead_of(word, received, kCountBits), 0));
}

bool Packetized::owner_was_sent_end() const noexcept {
  const std::uint64_t word = load(board().sent);
  return dtutils::is_hashed_word(word, kSentWord) && is_ended(flags_of(word));
}

std::size_t Packetized::copy_unreceived(std::span<const iovec> into,
                                        std::uint64_t end) const noexcept {
  const std::uint64_t begin = owner_received();
  Ring ring(sizes_);
  const std::uint64_t grown = load(board().grown);
  if (ring.may_grow() && dtutils::is_hashed_word(grown, kGrownWord)) {
    ring.grow(begin + static_cast<std::uint64_t>(ahead_of(grown, begin, kCountBits)));
  }
  Cursor cursor(into);
  return cursor.advance(end - begin, [&](std::byte* to, std::size_t at, std::size_t length) {
    copy_from(ring, begin + at, {to, length});
  });
}

}  // namespace streams
