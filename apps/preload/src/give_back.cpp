// SPDX-License-Identifier: MIT
// Connections of several processes, of which one has the stream.
#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>

#include "connection.hpp"
#include "kernel_poll.hpp"
#include "kernel_socket.hpp"
#include "real.hpp"
#include "word.hpp"

namespace preload {
namespace {

/// An owner that runs needs far less to end its stream.
constexpr std::chrono::milliseconds kOwnersPatience{20};
constexpr timespec kOwnersStep{0, 50'000};
/// How long a process that becomes another program waits for the peer's word.
constexpr int kStepsBeforeProgram = 200;
constexpr timespec kStepBeforeProgram{0, 10'000'000};
/// Who waits for the owner's peer looks after a millisecond, which doubles after so many looks.
constexpr unsigned kLooksBeforeLonger = 8;
constexpr unsigned kLongestShift = 6;
/// Who waits for another process of the peer is woken by what it says, and looks for the end of its
/// patience.
constexpr std::chrono::milliseconds kOrphansLook{100};

bool has_ended_process(int process) noexcept {
  pollfd entry{process, POLLIN, 0};
  const timespec now{};
  return poll_kernel(&entry, 1, &now, nullptr) > 0;
}

/// How many bytes it copied.
std::size_t copy(std::span<const iovec> from, std::span<const iovec> to) noexcept {
  std::size_t done = 0;
  std::size_t offset = 0;
  auto source = from.begin();
  for (const iovec& part : to) {
    for (std::size_t filled = 0; filled < part.iov_len;) {
      while (source != from.end() && offset == source->iov_len) ++source, offset = 0;
      if (source == from.end()) return done;
      const std::size_t bytes = std::min(part.iov_len - filled, source->iov_len - offset);
      std::memcpy(static_cast<std::byte*>(part.iov_base) + filled,
                  static_cast<const std::byte*>(source->iov_base) + offset, bytes);
      filled += bytes;
      offset += bytes;
      done += bytes;
    }
  }
  return done;
}

}  // namespace

bool Connection::share() noexcept {
  holders_.add_child();
  if (stream_ == nullptr) return false;
  if (!is_shared_ && holders_.returned() != nullptr) {
    holders_.returned()->begin();
    is_shared_ = true;
    stream_->announce_sharing(true);
    note_resumable();
  }
  return true;
}

void Connection::leave_to_parent(const Owner& parent) noexcept {
  sleepers.forget();
  pending = false;
  if (stream_ == nullptr) return;
  // Its destructor would end what the parent uses.
  owners_stream_ = stream_.release();
  foreign_ = true;
  owner_ = parent;
  given_ = heard_ = false;
  out_ = Out::kTcpAgain;
  in_ = In::kTcpAgain;
  ahead_.clear();
  word_left_ = 0;
}

bool Connection::is_asked_for() const noexcept {
  if (stream_ == nullptr || !is_shared_) return false;
  const Returned& returned = *holders_.returned();
  const bool done = returned.may_send() && returned.next() != Returned::Next::kOwner;
  return returned.asked() && !done && (given_ || !returned.has_program());
}

void Connection::leave_to_program(int fd) noexcept {
  Returned* const returned = foreign_ ? holders_.returned() : nullptr;
  if (returned == nullptr || (real().fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0) return;
  if (returned->leave_to_program()) return;
  for (int i = 0; i < kStepsBeforeProgram; ++i) {
    look_at_returned(fd);
    settle_returned();
    if (!foreign_) return;
    // Nobody is left who could take what the peer had sent over the stream.
    if (holders_.alone() && returned->size() != 0) break;
    nanosleep(&kStepBeforeProgram, nullptr);
  }
  // The program would take the word for bytes, or miss some. It keeps the descriptor open, so no
  // close makes a reset.
  returned->lose();
  reset(fd);
}

bool Connection::ends_with_owner() const noexcept {
  if (holders_.alone() || !is_shared_) return true;
  return !given_ && holders_.returned()->has_program();
}

bool Connection::give_up(int fd) noexcept {
  return stream_ == nullptr || ends_with_owner() || give_back(fd);
}

bool Connection::give_back(int fd) noexcept {
  Returned& returned = *holders_.returned();
  const std::uint64_t before = arrived();
  if (in_ == In::kOrphaned) hear_survivor(fd);
  if (in_ == In::kOrphaned) return false;
  if (!given_) tell_heirs(fd);
  if (!returned.give()) return true;
  given_ = true;
  if (out_ != Out::kTcpAgain) hand_over();
  const int code = say_word(fd, streamed_, word_left_);
  // Before others send: then they can go on without this process.
  pass_on(fd);
  // Without TCP there is nothing that could be mistaken for the word.
  if (code != EAGAIN) returned.let_send();
  if (before != arrived()) wake_all();
  return returned.may_send() && returned.next() != Returned::Next::kOwner;
}

/// By the owner: what the peer sends until it has left its stream goes to whoever reads first.
void Connection::pass_on(int fd) noexcept {
  Returned& returned = *holders_.returned();
  if (returned.next() == Returned::Next::kTcp) return;
  const Returned::Lock lock(returned);
  if (!lock || returned.next() == Returned::Next::kLost) {
    if (in_ != In::kCut) cut(fd);
    return;
  }
  const auto is_over = [this] {
    return ahead_.size() == 0 && (in_ == In::kTcpAgain || in_ == In::kLost || in_ == In::kCut);
  };
  std::optional<Returned::Hearing> hearing;
  while (!is_over()) {
    if (in_ != In::kStream && !hearing) hearing.emplace(returned);
    const std::array<iovec, 2> room = returned.room();
    Buffers buffers(room);
    if (buffers.empty()) break;
    const int code = receive_step(fd, buffers, 0);
    returned.add(buffers.done());
    if (code != kLookAgain && buffers.done() == 0) break;
  }
  if (in_ == In::kStream || in_ == In::kEnded) returned.tell_taken(taken_);
  if (!is_over()) return;
  if (in_ == In::kLost) why_lost(fd);
  if (in_ == In::kCut) {
    returned.lose();
  } else {
    in_ = In::kTcpAgain;
    returned.go_on_with_tcp();
  }
  ++changes_;
}

/// The first of those who want it waits for a moment, so that it rarely has to come again.
void Connection::ask_back() noexcept {
  Returned* const returned = holders_.returned();
  if (returned == nullptr || owner_.wake < 0 || !returned->ask()) return;
  const std::uint64_t one = 1;
  static_cast<void>(real().write(owner_.wake, &one, sizeof one));
  const auto end = std::chrono::steady_clock::now() + kOwnersPatience;
  while (!returned->may_send() && std::chrono::steady_clock::now() < end &&
         !has_ended_process(owner_.process)) {
    nanosleep(&kOwnersStep, nullptr);
  }
}

void Connection::look_at_returned(int fd) noexcept {
  if (given_) return pass_on(fd);
  Returned* const returned = holders_.returned();
  if (returned == nullptr) return;
  if (owner_.wake < 0 || (returned->has_program() && !returned->may_send())) {
    return returned->lose();
  }
  ask_back();
  const bool waits = returned->next() == Returned::Next::kOwner || !returned->may_send();
  if (waits && (returned->abandoned() || has_ended_process(owner_.process))) inherit(fd);
}

/// Once nothing is left of the stream, it is a connection like those that never had one.
void Connection::settle_returned() noexcept {
  const Returned& returned = *holders_.returned();
  if (!returned.may_send() || !returned.receives_tcp()) return;
  if (foreign_) {
    pin();
    changes_ += returned.end();
  }
  foreign_ = given_ = false;
  ++changes_;
}

std::chrono::milliseconds Connection::longest_sleep() noexcept {
  const Returned* const returned = foreign_ ? holders_.returned() : nullptr;
  if (in_ == In::kOrphaned) return kOrphansLook;
  if (returned == nullptr) return std::chrono::milliseconds(0);
  if (returned->may_send() && returned->next() != Returned::Next::kOwner) {
    return std::chrono::milliseconds(0);
  }
  return std::chrono::milliseconds(1u << std::min(looks_++ / kLooksBeforeLonger, kLongestShift));
}

short Connection::returned_events(int fd) noexcept {
  look_at_returned(fd);
  const Returned* const returned = holders_.returned();
  if (returned == nullptr || returned->next() == Returned::Next::kLost) {
    return kReadable | kWritable;
  }
  settle_returned();
  return returned->size() != 0 || read_shut_ ? kReadable : short{0};
}

int Connection::send_foreign(int fd, Buffers& buffers, int flags) noexcept {
  look_at_returned(fd);
  const Returned* const returned = holders_.returned();
  if (returned == nullptr || returned->next() == Returned::Next::kLost) {
    if (in_ != In::kCut) return cut(fd), ECONNRESET;
  } else if (!returned->may_send()) {
    ++blocked_;
    return EAGAIN;
  }
  const int code = send_tcp(fd, buffers, flags);
  if (code == EAGAIN) ++blocked_;
  return code;
}

int Connection::receive_returned(int fd, Buffers& buffers, int flags) noexcept {
  look_at_returned(fd);
  Returned* const returned = holders_.returned();
  if (returned == nullptr) return ECONNRESET;
  const std::size_t before = buffers.done();
  {
    const Returned::Lock lock(*returned);
    while (lock && returned->size() != 0 && !buffers.empty()) {
      Buffers::Window window;
      const std::size_t bytes = copy(returned->bytes(), buffers.next(window, SIZE_MAX));
      buffers.advance(bytes);
      if ((flags & MSG_PEEK) != 0) return 0;
      returned->drop(bytes);
    }
  }
  if (buffers.done() != before) looks_ = 0;
  if (returned->receives_tcp()) {
    settle_returned();
    return buffers.empty() ? 0 : kLookAgain;
  }
  if (buffers.done() != before) return 0;
  if (returned->next() == Returned::Next::kOwner) return read_shut_ ? 0 : EAGAIN;
  if (in_ != In::kCut) cut(fd);
  return ECONNRESET;
}

}  // namespace preload
