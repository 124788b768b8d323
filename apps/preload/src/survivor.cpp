// SPDX-License-Identifier: MIT
// A connection of several processes goes on when the one that had its stream was killed.
//
//   survivor                                          peer, which was told that there may be one
//   finds that the owner has ended                    finds that its stream broke without an end
//   its word, over TCP: how many bytes the      --->  has received so many, or more: they are in
//   owner had sent, says the stream's memory          the memory of this side
//   sends over TCP                                    its word: how many bytes it had sent
//   all of them are in the stream's memory,     <---
//   which a child has by fork(2): what the            goes on with TCP
//   owner has not received goes to `Returned`
//   receives from there, then over TCP
#include <poll.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "connection.hpp"
#include "kernel_socket.hpp"
#include "word.hpp"

namespace preload {
namespace {

/// How long a peer waits for a survivor. One that waits itself comes within 64 ms.
constexpr std::chrono::seconds kPatienceWithSurvivors{1};

}  // namespace

void Connection::note_resumable() noexcept {
  if (!is_shared_ || stream_ == nullptr || given_) return;
  if (holders_.alone()) {
    is_shared_ = false;
    return stream_->announce_sharing(false);
  }
  const bool streams = in_ == In::kStream && out_ == Out::kStream && ahead_.size() == 0;
  holders_.returned()->set_resumable(streams);
}

void Connection::forget_resumable() noexcept {
  if (is_shared_) holders_.returned()->set_resumable(false);
}

/// The owner has ended.
void Connection::inherit(int fd) noexcept {
  Returned& returned = *holders_.returned();
  const Returned::Lock lock(returned);
  if (!lock || returned.next() == Returned::Next::kLost) return;
  if (!returned.may_send()) return speak_for_owner(fd);
  if (returned.next() == Returned::Next::kOwner) take_remains(fd);
}

/// By the owner, before it gives the stream back: what it would take along if it died meanwhile.
void Connection::tell_heirs(int fd) noexcept {
  Returned& returned = *holders_.returned();
  const auto written = bytes_written(fd);
  if (in_ != In::kStream || out_ != Out::kStream || ahead_.size() != 0 || !written) return;
  const Returned::Lock lock(returned);
  if (!lock) return;
  returned.tell_taken(taken_);
  returned.tell_word(streamed_, *written);
}

/// The owner has died between giving the stream back and letting others send.
void Connection::finish_word(int fd) noexcept {
  Returned& returned = *holders_.returned();
  const auto written = bytes_written(fd);
  if (!returned.knows_word() || !written) return returned.lose();
  const std::uint64_t said = *written - returned.written();
  if (said > sizeof(Word)) return returned.lose();
  auto left = static_cast<unsigned>(sizeof(Word) - said);
  if (say_word(fd, returned.word(), left) != EAGAIN) returned.let_send();
}

/// Says the word that the owner has not said.
void Connection::speak_for_owner(int fd) noexcept {
  Returned& returned = *holders_.returned();
  if (returned.given()) return finish_word(fd);
  const auto word = owners_stream_ == nullptr ? std::nullopt : owners_stream_->survivor_word();
  if (!word || !returned.resumable() || !returned.inherit()) return returned.lose();
  unsigned left = sizeof(Word);
  say_word(fd, *word, left);
  // Nothing at all: TCP takes it later.
  if (left == sizeof(Word) && !has_ended(fd)) return;
  left == 0 ? returned.let_send() : returned.lose();
}

/// Takes what the owner has not received, once it is known that this is all.
void Connection::take_remains(int fd) noexcept {
  Returned& returned = *holders_.returned();
  // What the owner has received and not left here is lost.
  const bool has_rest = owners_stream_->owner_received() == returned.taken() + kOwnBytes;
  if (!returned.inherited() && !(returned.knows_taken() && has_rest)) return returned.lose();
  if (levels(fd, POLLIN | POLLRDHUP) == 0) return;
  const std::array<iovec, 2> room = returned.room();
  if (room[0].iov_len == 0) return;
  const Returned::Hearing hearing(returned);
  const auto heard = hear_word(fd);
  if (!heard) return returned.drop(0);
  const std::uint64_t arrived = owners_stream_->owner_was_sent();
  // What the peer has sent when the owner was dead it sends again, and does not count.
  const std::uint64_t end = heard->end ? arrived : heard->word + kOwnBytes;
  const bool whole = end <= arrived && end >= owners_stream_->owner_received() &&
                     (!heard->end || owners_stream_->owner_was_sent_end());
  if (!whole) return returned.lose();
  returned.add(owners_stream_->copy_unreceived(room, end));
  returned.go_on_with_tcp();
}

/// By the peer: what becomes of the receiving direction of a stream that broke.
Connection::In Connection::after_break() noexcept {
  if (out_ != Out::kStream || given_ || !stream_->awaits_survivor()) return In::kLost;
  orphaned_since_ = std::chrono::steady_clock::now();
  return In::kOrphaned;
}

void Connection::hear_survivor(int fd) noexcept {
  const auto heard = hear_word(fd);
  if (!heard) {
    if (std::chrono::steady_clock::now() - orphaned_since_ > kPatienceWithSurvivors) cut(fd);
    return;
  }
  ++changes_;
  // Or the owner's own word: it died before it could say over the stream that it gives it back.
  const bool whole =
      heard->end || stream_->has_all(heard->word) || heard->word == taken_ + ahead_.size();
  if (!whole) return cut(fd);
  in_ = In::kTcpAgain;
  out_ = Out::kTcpAgain;
  if (!heard->end) {
    word_left_ = sizeof(Word);
    say_word(fd, streamed_, word_left_);
  }
  ++blocked_;
  wake_all();
}

}  // namespace preload
