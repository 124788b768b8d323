// SPDX-License-Identifier: MIT
// How a direction leaves its stream and goes on with TCP.
#include <sys/ioctl.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "connection.hpp"
#include "kernel_socket.hpp"
#include "real.hpp"
#include "word.hpp"

namespace preload {

void Connection::leave_stream() noexcept {
  forget_resumable();
  out_ = Out::kTcpAgain;
  stream_->finish_sending();
}

void Connection::hand_over() noexcept {
  forget_resumable();
  // One that was never begun needs no word: all went over TCP.
  word_left_ = out_ == Out::kStream ? sizeof(Word) : 0;
  out_ = Out::kTcpAgain;
  stream_->hand_over();
}

/// Before the end of TCP, which takes the place of the word unless the peer waits for that.
void Connection::end_sending(int fd) noexcept {
  if (stream_ != nullptr) look_for_end(fd);
  if (stream_ != nullptr && out_ != Out::kTcpAgain) leave_stream();
  if (foreign_) ask_back();
  say_word(fd, streamed_, word_left_);
  out_ = Out::kTcpAgain;
}

/// Looks whether the peer has ended its stream, and what it has said then, also for a program that
/// does not receive. True when the stream has bytes, or has broken.
bool Connection::look_for_end(int fd) noexcept {
  if (in_ == In::kTcp && heard_ && stream_->receive_ready()) find_beginning(fd);
  if (in_ == In::kStream) {
    if (!stream_->receive_ready()) return false;
    if (stream_->readable() != 0) return true;
    std::byte none;
    const bool ended = stream_->try_peek(std::span(&none, 1)).status == streams::Status::kEnd;
    if (!ended && after_break() == In::kLost) return true;
    in_ = ended ? In::kEnded : In::kOrphaned;
  }
  if (in_ == In::kEnded) hear_end(fd);
  if (in_ == In::kOrphaned) hear_survivor(fd);
  return false;
}

/// Of a stream that has ended: true when its direction goes on with TCP, or is lost.
bool Connection::hear_end(int fd) noexcept {
  forget_resumable();
  if (!stream_->handed_over()) {
    // TCP says the rest; another program may have it, which knows of no word.
    in_ = In::kTcpAgain;
    ++changes_;
    return true;
  }
  // It may come later than the stream is closed: TCP sends when it likes.
  const auto heard = hear_word(fd);
  if (!heard) return false;
  ++changes_;
  const bool whole = heard->end || heard->word == taken_ + ahead_.size();
  in_ = whole ? In::kTcpAgain : In::kLost;
  if (!heard->end && whole) answer(fd);
  return true;
}

/// The peer has given the stream back: this side leaves it, too.
void Connection::answer(int fd) noexcept {
  if (out_ == Out::kTcpAgain) return;
  hand_over();
  // A peer that receives nothing any more would answer with a reset.
  if (!has_ended(fd)) say_word(fd, streamed_, word_left_);
  ++blocked_;
  wake_all();
}

/// The stream takes no more bytes. 0: TCP does, or gives the reason as it always does.
int Connection::why_broken(int fd) noexcept {
  // An owner that has given the stream back, and has ended then, said so behind what it sent.
  receive_ahead();
  look_for_end(fd);
  if (in_ == In::kOrphaned) return EAGAIN;
  if (out_ != Out::kStream) return 0;
  out_ = Out::kTcpAgain;
  if (!stream_->closed_by_peer()) return why_lost(fd);
  // It waits for the word, and has said its own, which stands behind what was not received.
  if (stream_->handed_over() && !has_ended(fd)) word_left_ = sizeof(Word);
  return 0;
}

}  // namespace preload
