// SPDX-License-Identifier: MIT
// The sender of a packetized stream: writes into the peer's ring, or packs.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "packetized.hpp"

namespace streams {
namespace {

/// Sends between two looks at the completions.
constexpr std::uint32_t kSendsPerPoll = 8;

}  // namespace

void Packetized::read_feedback() noexcept {
  Feedback& feedback = board().feedback;
  const std::uint64_t taken = load(feedback.taken);
  if (taken != taken_word_ && dtutils::is_hashed_word(taken, kTakenWord)) {
    const std::int64_t more = ahead_of(taken, taken_there_, kCountBits);
    if (more < 0 || taken_there_ + static_cast<std::uint64_t>(more) > accepted_) {
      return link_.give_up();
    }
    taken_there_ += static_cast<std::uint64_t>(more);
    taken_word_ = taken;
    if ((flags_of(taken) & kLargerRing) != 0) larger_offered_there_ = true;
    shared_there_ = (flags_of(taken) & kShared) != 0;
    if (shared_there_) pack_until_ = 0;
  }
  // seq_cst: pairs with the write and the read of ask(); see the head of packetized.hpp.
  const std::uint64_t seen = std::atomic_ref(feedback.seen).load(std::memory_order_seq_cst);
  if (seen != seen_word_ && dtutils::is_hashed_word(seen, kSeenWord)) {
    const std::int64_t more = ahead_of(seen, seen_there_, kCountBits);
    if (more < 0 || seen_there_ + static_cast<std::uint64_t>(more) > accepted_) {
      return link_.give_up();
    }
    seen_there_ += static_cast<std::uint64_t>(more);
    seen_word_ = seen;
    // Whoever looked: the peer may sleep by now, and would not fetch what is packed from here on.
    if (seen_there_ >= told_) pack_until_ = 0;
  }
  if (switching_ && std::max(taken_there_, seen_there_) > ring_there_.grown_at()) {
    switching_ = false;
  }
}

bool Packetized::cannot_send() const noexcept {
  return link_.broken() || (flags_there_ & kClosed) != 0 || end_wanted_;
}

std::uint64_t Packetized::written_to() const noexcept {
  return link_.idle() ? written_ : completed_;
}

std::uint64_t Packetized::free_from() const noexcept {
  // What is under way must not come late into space that was taken.
  return std::min(written_to(), taken_there_);
}

std::size_t Packetized::space() const noexcept {
  return ring_there_.size() - (accepted_ - free_from());
}

std::size_t Packetized::staging_space() const noexcept {
  const std::uint64_t used = accepted_ - (packs_ || switching_ ? free_from() : written_to());
  return used >= staging_.length ? 0 : staging_.length - used;
}

std::uint32_t Packetized::part_to_signal() const noexcept {
  const std::uint32_t ring = ring_there_.size();
  return (direct_ != 0 ? ring : std::min(ring, staging_.length)) / kPartsOfRing;
}

std::size_t Packetized::sendable() const noexcept {
  return direct_ != 0 ? space() : std::min(space(), staging_space());
}

bool Packetized::may_pack(std::size_t bytes) const noexcept {
  return packing_ && seen_there_ < told_ && accepted_ + bytes <= pack_until_;
}

bool Packetized::pack_at_once(std::span<const iovec> buffers, std::size_t limit) noexcept {
  if (!packing_ || buffers.size() != 1 || link_.broken()) return false;
  if (writes_.receives() != 0) {
    look_at_sent();
    if (cannot_send()) return false;
  }
  const iovec& buffer = buffers.front();
  if (buffer.iov_len == 0 || buffer.iov_len > limit) return false;
  const std::size_t offset = accepted_ & (staging_.length - 1);
  // Nothing came from the peer since the last look, and there is no end on the way.
  if (accepted_ + buffer.iov_len > pack_until_ || offset + buffer.iov_len > staging_.length ||
      load(board().sent) != sent_word_ || load(board().feedback.seen) != seen_word_) {
    return false;
  }
  std::memcpy(staged(offset), buffer.iov_base, buffer.iov_len);
  accepted_ += buffer.iov_len;
  publish_packed();
  // seq_cst: pairs with the write and the read of ask(); see the head of packetized.hpp.
  if (std::atomic_ref(board().feedback.seen).load(std::memory_order_seq_cst) != seen_word_) {
    read_feedback();
    if (!may_pack(0)) send_packed();
  }
  return true;
}

std::byte* Packetized::staged(std::size_t offset) const noexcept {
  return static_cast<std::byte*>(staging_.address) + offset;
}

void Packetized::pack(Cursor& cursor, std::size_t bytes) noexcept {
  const std::uint64_t begin = accepted_;
  accepted_ +=
      cursor.advance(bytes, [&](const std::byte* from, std::size_t at, std::size_t length) {
        const std::size_t offset = (begin + at) & (staging_.length - 1);
        const std::size_t first = std::min<std::size_t>(length, staging_.length - offset);
        std::memcpy(staged(offset), from, first);
        if (first != length) std::memcpy(staged(0), from + first, length - first);
      });
}

dtutils::RemoteMemoryLocator Packetized::in_ring_there(std::size_t offset,
                                                       std::size_t length) const noexcept {
  const std::uint32_t initial = ring_there_.sizes().initial;
  return offset < initial ? link_.there(kStagingAt + staging_there_ + offset, length)
                          : larger_there_.part(offset - initial, length);
}

bool Packetized::write_piece(dtutils::LocalBuffer from, std::uint64_t at, unsigned flags,
                             const std::uint32_t* immediate) noexcept {
  // The staging memory is used again only for what is known to be written.
  const std::uint64_t part = packing_ ? kPacked : signal_part_;
  const bool must = at + from.length - signaled_ >= part || closed_;
  flags |= link_.flags(must);
  const std::uint64_t id = (at + from.length) << 2 | kWritten;
  const dtutils::RemoteMemoryLocator to =
      in_ring_there(ring_there_.place_of(at).offset, from.length);
  const dtutils::PostResult posted =
      immediate == nullptr
          ? link_.pair().post_write(from, to, id, flags)
          : link_.pair().post_write_with_immediate(from, to, *immediate, id, flags);
  if (!link_.count(posted, flags)) return false;
  if ((flags & dtutils::kSignaled) != 0) signaled_ = at + from.length;
  written_ = at + from.length;
  return true;
}

bool Packetized::write_packed() noexcept {
  while (written_ != accepted_) {
    if (!link_.has_room(1)) poll_sends();
    if (!link_.has_room(1)) return false;
    const std::size_t from = written_ & (staging_.length - 1);
    const std::size_t length = std::min<std::size_t>(
        {accepted_ - written_, staging_.length - from, ring_there_.place_of(written_).run});
    const bool fits = length <= link_.pair().max_inline();
    const dtutils::LocalBuffer local{staged(from), static_cast<std::uint32_t>(length),
                                     staging_.lkey};
    const unsigned flags = fits ? dtutils::kInlined : 0u;
    const bool tells = written_ + length == accepted_ && may_tell_by_write();
    if (!(tells ? write_and_tell(local, flags) : write_piece(local, written_, flags))) return false;
  }
  return true;
}

std::size_t Packetized::write(Cursor& cursor, std::size_t bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes) {
    if (!link_.has_room(kRoomToSend)) poll_sends();
    if (!link_.has_room(kRoomToSend)) break;
    // Not more than what is told of at once: the peer takes it while the next piece is written.
    const std::size_t limit =
        std::min<std::size_t>({bytes - done, direct_, ring_there_.size() / kPartsOfRing,
                               ring_there_.place_of(accepted_).run});
    bool posted = false;
    std::size_t length = 0;
    // One piece of one buffer: what an inline request can carry.
    cursor.advance_piece(limit, [&](std::byte* from, std::size_t piece) {
      length = piece;
      posted =
          write_piece({from, static_cast<std::uint32_t>(piece), 0}, accepted_, dtutils::kInlined);
      return posted;
    });
    if (!posted) break;
    accepted_ += length;
    done += length;
    if (written_ - told_ >= ring_there_.size() / kPartsOfRing && !tell_sent()) break;
  }
  return done;
}

Result Packetized::send(std::span<const iovec> buffers, std::size_t limit) noexcept {
  if (pack_at_once(buffers, limit)) return {buffers.front().iov_len, Status::kOk};
  if (++sends_ % kSendsPerPoll == 0) poll();
  look_at_sent();
  read_feedback();
  if (cannot_send()) return {0, Status::kBrokenPipe};
  const std::size_t wanted = std::min(total_of(buffers), limit);
  if (wanted == 0) return {0, Status::kOk};
  Cursor cursor(buffers);
  if (may_pack(wanted)) {
    pack(cursor, wanted);
    publish_packed();
    read_feedback();
    if (!may_pack(0)) send_packed();
    return {wanted, Status::kOk};
  }
  std::size_t done = 0;
  while (done < wanted) {
    if (!write_packed()) break;
    if (may_begin_larger_ring()) begin_larger_ring();
    std::size_t bytes = std::min(wanted - done, sendable());
    if (bytes == 0 || !link_.has_room(kRoomToSend)) {
      poll();
      read_feedback();
      bytes = std::min(wanted - done, sendable());
      if (bytes == 0 || !link_.has_room(kRoomToSend)) break;
    }
    const bool gathered = buffers.size() > 1 && bytes <= staging_space();
    std::size_t step;
    if (direct_ != 0 && !gathered) {
      step = write(cursor, bytes);
    } else {
      step = bytes;
      pack(cursor, step);
    }
    done += step;
    if (step == 0) break;
  }
  send_packed();
  if (shared_there_ && sent_to_the_dead()) return {0, Status::kBrokenPipe};
  if (done != 0) return {done, Status::kOk};
  return {0, link_.broken() ? Status::kBrokenPipe : Status::kWouldBlock};
}

}  // namespace streams
