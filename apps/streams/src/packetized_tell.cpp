// SPDX-License-Identifier: MIT
// What a side of a packetized stream tells the other one: counts of bytes, the end, and bells.
#include <algorithm>
#include <atomic>

#include "packetized.hpp"

namespace streams {

bool Packetized::send_packed() noexcept {
  return write_packed() && (written_ == told_ || tell_sent());
}

std::uint32_t Packetized::flags_behind(std::uint64_t end) const noexcept {
  std::uint32_t flags = 0;
  if (closed_) {
    flags = kClosed | (arrived_ != taken_ || more_unread_ ? kUnread : 0);
    if (!handed_over_) flags |= kEnded;
  } else if (end_wanted_ && end == accepted_) {
    flags = handed_over_ ? kEnded | kUnread : kEnded;
  }
  // Who answers each message has no use for packing: the peer waits for what it gets.
  // What is packed would be lost with this process, and what the peer has not fetched with that.
  const bool alone = !shared_ && !shared_there_;
  const bool packing = packs_ && alone && !switching_ && sends_ >= kSendsBeforePacking &&
                       end - told_ <= kPacked && !end_wanted_;
  return flags | (packing ? kPacking : 0);
}

bool Packetized::may_tell_by_write() noexcept {
  if (writes_.credits() > 1) return true;
  if (!writes_.may_leave()) return false;
  const std::uint64_t heard = load(board().feedback.heard);
  if (dtutils::is_hashed_word(heard, kHeardWord) &&
      !writes_.give_back(ahead_of(heard, writes_.heard_there(), kCountBits))) {
    link_.give_up();
    return false;
  }
  return writes_.credits() != 0;
}

bool Packetized::write_and_tell(dtutils::LocalBuffer from, unsigned flags) noexcept {
  const std::uint32_t told = flags_behind(written_ + from.length);
  // What comes next may not wake the peer: it asks before it sleeps.
  const std::uint32_t alone = writes_.credits() == 1 ? kPacking : 0;
  const std::uint32_t immediate = sent_immediate(written_ + from.length, told | alone);
  if (!write_piece(from, written_, flags, &immediate)) return false;
  writes_.count_leaving();
  note_told(told);
  return true;
}

bool Packetized::tell_sent() noexcept {
  if (!link_.has_room(1)) poll_sends();
  if (!link_.has_room(1)) return false;
  if (may_tell_by_write()) return write_and_tell({}, 0);
  const std::uint32_t told = flags_behind(written_);
  std::uint64_t word = count_word(kSentWord, written_, told);
  if (!post_words(&word, sizeof word, offsetof(Board, sent))) return false;
  note_told(told);
  ring_bell(false);
  return true;
}

bool Packetized::post_words(void* words, std::uint32_t length, std::size_t at) noexcept {
  const unsigned flags = link_.flags(closed_);
  if (!link_.count(link_.pair().post_write({words, length, 0}, link_.there(at, length),
                                           written_ << 2 | kWritten, flags | dtutils::kInlined),
                   flags)) {
    return false;
  }
  if ((flags & dtutils::kSignaled) != 0) signaled_ = written_;
  return true;
}

void Packetized::note_told(std::uint32_t flags) noexcept {
  told_ = written_;
  told_flags_ = flags;
  packing_ = (flags & kPacking) != 0;
  pack_until_ = 0;
  // Bytes that were fetched are seen before they are told of.
  if (packing_ && seen_there_ < told_) {
    poll_sends();
    if (link_.has_room(kRoomToSend)) {
      pack_until_ = std::min({told_ + kPacked, accepted_ + space(), accepted_ + staging_space()});
    }
  }
  publish();
}

void Packetized::publish() noexcept {
  Published& mine = board().published;
  const std::uint64_t state =
      count_word(kTakenWord, returned_, flags_behind(written_) & (kEnded | kClosed));
  std::atomic_ref(mine.state).store(state, std::memory_order_relaxed);
  publish_packed();
}

void Packetized::publish_packed() noexcept {
  const std::uint64_t packed =
      packs_ && !switching_ ? std::min<std::uint64_t>(accepted_ - written_, kStaging) : 0;
  // seq_cst: before the loads of `seen` and `armed`; see the head of packetized.hpp.
  std::atomic_ref(board().published.packed)
      .store(packed_word(written_, packed), std::memory_order_seq_cst);
}

void Packetized::ring_bell(bool space_only) noexcept {
  const std::uint64_t word =
      std::atomic_ref(board().feedback.armed).load(std::memory_order_seq_cst);
  if (word == answered_) return;
  bell_pending_ = false;
  // One that is not whole yet means that somebody is falling asleep.
  if (!dtutils::is_hashed_word(word, kArmedWord)) {
    bell_pending_ = word != 0;
    return;
  }
  if (space_only && (word & 1) == 0) return;
  if ((word & dtutils::kHashedMask) >> 1 == (answered_ & dtutils::kHashedMask) >> 1) return;
  const unsigned flags = link_.flags(closed_);
  bell_pending_ = !link_.has_room(1) || !link_.count(link_.pair().post_send_with_immediate(
                                                         {}, 0, written_ << 2 | kWritten, flags),
                                                     flags);
  if (bell_pending_) return;
  if ((flags & dtutils::kSignaled) != 0) signaled_ = written_;
  answered_ = word;
}

void Packetized::finish_sending(bool hands_over) noexcept {
  if (!end_wanted_) handed_over_ = hands_over;
  end_wanted_ = true;
  pack_until_ = 0;
  await_room(kRoomToFinish);
  poll();
}

void Packetized::send_end() noexcept {
  if (!end_wanted_ || is_ended(told_flags_) || link_.broken()) return;
  tell_all(kEnded);
}

bool Packetized::say_closed() noexcept {
  closed_ = end_wanted_ = true;
  return tell_all(kClosed);
}

bool Packetized::tell_all(std::uint32_t flag) noexcept {
  // The last bytes may have told already.
  return write_packed() && ((told_flags_ & flag) != 0 || tell_sent());
}

bool Packetized::delivered() noexcept {
  poll_sends();
  return link_.broken() || link_.idle();
}

}  // namespace streams
