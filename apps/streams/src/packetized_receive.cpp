// SPDX-License-Identifier: MIT
// The receiver of a packetized stream: takes bytes out of the ring, and fetches packed ones.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "packetized.hpp"

namespace streams {
namespace {

/// Fruitless looks between two looks at the completions.
constexpr std::uint32_t kLooksPerPoll = 8;

}  // namespace

void Packetized::poll_receives() noexcept {
  while (link_.poll_receives([this](const ibv_wc& completion) {
    static_cast<void>(link_.pair().post_receive({}, 0));
    if (completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
      writes_.count_heard();
      const std::uint32_t told = dtutils::immediate_of(completion);
      return hear(told, kImmediateBits, told >> kImmediateBits, true);
    }
    bell_came_ = true;
    quiet_ = false;
  })) {
  }
}

void Packetized::look_at_sent() noexcept {
  // What is being fetched arrives in its place of the ring until it is complete.
  if (fetching_) return;
  if (writes_.receives() != 0) poll_receives();
  const std::uint64_t word = load(board().sent);
  if (word == sent_word_ || !dtutils::is_hashed_word(word, kSentWord)) return;
  sent_word_ = word;
  hear(word, kCountBits, flags_of(word), false);
}

void Packetized::hear(std::uint64_t count, unsigned bits, std::uint32_t flags,
                      bool by_write) noexcept {
  constexpr std::uint32_t kLasting = kEnded | kClosed | kUnread;
  const std::int64_t more = ahead_of(count, heard_, bits);
  // A word is seen at once, and may be newer than a write whose completion is polled later.
  const bool was_closed = (flags_there_ & kClosed) != 0 && (flags & kClosed) == 0;
  if (more < 0 || (more == 0 && (was_closed || (flags & kLasting & ~flags_there_) == 0))) return;
  if (larger_offered_ && ring_.may_grow() && !look_for_larger_ring()) return link_.give_up();
  heard_ += static_cast<std::uint64_t>(more);
  if (ahead_of(heard_, taken_, 64) > std::int64_t{ring_.size()}) return link_.give_up();
  if (heard_ - returned_ > ring_.size() - ring_.size() / kPartsOfRing) ++times_full_;
  if (heard_ > arrived_) {
    arrived_ = heard_;
    sends_ = 0;
  }
  ++steps_;
  flags_there_ = flags;
  heard_by_write_ = by_write;
  quiet_ = poll_always_ = false;
}

void Packetized::look(bool keeps_bytes) noexcept {
  look_at_sent();
  if (asking_ || fetching_) poll_sends();
  if (arrived_ == taken_ && (poll_always_ || ++looks_ % kLooksPerPoll == 0)) poll();
  // The peer may have packed bytes since it told of the last ones. Who takes bytes takes those
  // that are there, first; then the peer gets a moment to pack more, instead of being asked
  // for each.
  if ((flags_there_ & kPacking) == 0 || asked_step_ == steps_) return;
  if (keeps_bytes) return ask();
  if (arrived_ != taken_) return;
  const auto now = std::chrono::steady_clock::now();
  if (empty_step_ != steps_) {
    empty_step_ = steps_;
    empty_since_ = now;
  } else if (now - empty_since_ >= kPatienceWithPacking) {
    ask();
  }
}

Result Packetized::why_nothing() const noexcept {
  if (is_reset(flags_there_)) return {0, Status::kReset};
  if (is_ended(flags_there_)) return {0, Status::kEnd};
  return {0, link_.flushed() ? Status::kReset : Status::kWouldBlock};
}

dtutils::LocalBuffer Packetized::in_ring(std::size_t offset, std::size_t length) const noexcept {
  const auto bytes = static_cast<std::uint32_t>(length);
  if (offset < sizes_.initial) {
    return link_.region().local(kStagingAt + first_staging_ + offset, bytes);
  }
  std::byte* const larger = static_cast<std::byte*>(larger_.address);
  return {larger + (offset - sizes_.initial), bytes, larger_.lkey};
}

std::size_t Packetized::copy_out(std::span<const iovec> buffers, std::size_t limit) noexcept {
  const std::uint64_t begin = taken_;
  Cursor cursor(buffers);
  return cursor.advance(std::min<std::uint64_t>(arrived_ - taken_, limit),
                        [&](std::byte* into, std::size_t at, std::size_t length) {
                          copy_from(ring_, begin + at, {into, length});
                        });
}

void Packetized::copy_from(const Ring& places, std::uint64_t begin,
                           std::span<std::byte> into) const noexcept {
  for (std::size_t done = 0; done != into.size();) {
    const Ring::Place from = places.place_of(begin + done);
    const std::size_t piece = std::min(into.size() - done, from.run);
    std::memcpy(into.data() + done, in_ring(from.offset, piece).address, piece);
    done += piece;
  }
}

Result Packetized::receive(std::span<const iovec> buffers, std::size_t limit) noexcept {
  look(false);
  if (arrived_ == taken_) {
    return total_of(buffers) == 0 ? Result{0, Status::kOk} : why_nothing();
  }
  const std::size_t bytes = copy_out(buffers, limit);
  taken_ += bytes;
  // Relaxed: who reads it waits for the end of this process before.
  std::atomic_ref(board().received).store(taken_, std::memory_order_relaxed);
  // The peer may need it before this program makes another call, whether there are bytes left or
  // not.
  if (owes_space()) await_room(kRoomToReturn);
  return_space();
  return {bytes, Status::kOk};
}

Result Packetized::peek(std::span<const iovec> buffers, std::size_t limit) noexcept {
  look(true);
  if (arrived_ == taken_) {
    return total_of(buffers) == 0 ? Result{0, Status::kOk} : why_nothing();
  }
  return {copy_out(buffers, limit), Status::kOk};
}

std::size_t Packetized::readable() noexcept {
  look(true);
  return arrived_ - taken_;
}

bool Packetized::receive_ready() noexcept {
  look(true);
  return arrived_ != taken_ || is_ended(flags_there_) || link_.flushed();
}

bool Packetized::owes_space() const noexcept {
  // The sender packs only while little is in flight, as far as it knows: who has taken all bytes
  // tells so as early as before the ring has grown. Until the sender knows that bytes behind that
  // were taken, it may have no more than its first staging memory.
  const bool grown = ring_.has_grown() && returned_ > ring_.grown_at();
  const std::uint32_t ring = grown && arrived_ != taken_ ? ring_.size() : sizes_.initial;
  return taken_ - returned_ >= ring / kPartsOfRing || writes_.owes_credits();
}

void Packetized::return_space() noexcept {
  if (!owes_space() || link_.broken()) return;
  if (times_full_ >= full_before_offer_) offer_larger_ring();
  if (!tell_feedback()) return;
  publish();
  ring_bell(true);
}

bool Packetized::tell_feedback() noexcept {
  if (!link_.has_room(kRoomToReturn)) poll_sends();
  if (!link_.has_room(kRoomToReturn)) return false;
  const std::uint64_t number = arming();
  const std::uint32_t told = (larger_offered_ ? kLargerRing : 0) | (shared_ ? kShared : 0);
  Feedback words{count_word(kTakenWord, taken_, told), count_word(kSeenWord, seen_),
                 armed_ == 0 ? 0 : dtutils::hashed_word(number & dtutils::kHashedMask, kArmedWord),
                 count_word(kHeardWord, writes_.heard())};
  const std::uint32_t length = writes_.receives() != 0 ? sizeof words : offsetof(Feedback, heard);
  if (!post_words(&words, length, offsetof(Board, feedback))) return false;
  returned_ = taken_;
  writes_.count_returned();
  return true;
}

void Packetized::ask() noexcept {
  if (asking_ || fetching_ || link_.broken()) return;
  if (!link_.has_room(kRoomToSend)) poll_sends();
  if (!link_.has_room(kRoomToSend)) return;
  seen_ = arrived_;
  if (!tell_feedback()) return;
  publish();
  // No fence: a queue pair keeps a read behind the writes before it.
  const dtutils::LocalBuffer into =
      link_.region().local(offsetof(Board, answer), sizeof(Published));
  const auto from = link_.there(offsetof(Board, published), sizeof(Published));
  asking_ =
      link_.count(link_.pair().post_read(into, from, written_ << 2 | kAsked, dtutils::kSignaled),
                  dtutils::kSignaled);
  if (!asking_) return;
  asked_step_ = steps_;
  asked_arming_ = arming();
  poll_sends();
}

void Packetized::on_answer() noexcept {
  asking_ = false;
  const std::uint64_t packed = load(board().answer.packed);
  const std::uint64_t state = load(board().answer.state);
  if (!dtutils::is_hashed_word(packed, kPackedWord) ||
      !dtutils::is_hashed_word(state, kTakenWord)) {
    asked_step_ = 0;  // Once more.
    return;
  }
  const std::uint64_t count = packed & ((1u << kPackedBits) - 1);
  const std::int64_t ahead =
      ahead_of((packed & dtutils::kHashedMask) >> kPackedBits, arrived_, kWrittenBits);
  const std::int64_t fresh = ahead + static_cast<std::int64_t>(count);
  if (ahead <= 0 && fresh > 0) return fetch(static_cast<std::uint64_t>(fresh));
  const std::uint32_t ends = flags_there_ & (kEnded | kClosed);
  // Behind bytes that came after the question the sender may pack: they were not seen with it.
  quiet_ = !bell_came_ && asked_step_ == steps_ && asked_arming_ == arming() && fresh == 0 &&
           flags_of(state) == ends && ahead_of(state, taken_there_, kCountBits) == 0;
}

void Packetized::fetch(std::uint64_t bytes) noexcept {
  if (bytes > ring_.size() - (arrived_ - taken_)) return link_.give_up();
  // At most two pieces on each side.
  if (!link_.has_room(kRoomToSend)) {
    asked_step_ = 0;
    return;
  }
  const std::uint64_t end = arrived_ + bytes;
  for (std::uint64_t at = arrived_; at != end;) {
    const std::size_t from = at & (staging_there_ - 1);
    const Ring::Place into = ring_.place_of(at);
    const std::size_t length =
        std::min<std::size_t>({end - at, std::size_t{staging_there_} - from, into.run});
    at += length;
    const unsigned flags = at == end ? dtutils::kSignaled : link_.flags(false);
    const dtutils::LocalBuffer local = in_ring(into.offset, length);
    const std::uint64_t id = written_ << 2 | (at == end ? kFetched : kWritten);
    if (!link_.count(
            link_.pair().post_read(local, link_.there(kStagingAt + from, length), id, flags),
            flags)) {
      return;
    }
  }
  fetching_ = true;
  fetched_to_ = end;
}

}  // namespace streams
