// SPDX-License-Identifier: MIT
// How a connection begins, changes to a stream, is looked at, and ends.
#include "connection.hpp"

#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <span>

#include "epoll_set.hpp"
#include "kernel_socket.hpp"
#include "real.hpp"
#include "word.hpp"

namespace preload {
namespace {

/// Calls that moved bytes before a stream is asked for. To make a stream costs more than a few
/// requests over TCP take, and servers that fork after accept have forked by then.
constexpr std::uint32_t kTransfers = 4;
/// Who receives more at a time, on average, gets the larger ring: the sender of long pieces waits
/// each time that it has filled the ring, and would be slower than over TCP.
constexpr std::uint64_t kLongTransfer = streams::kRing / 4;
constexpr std::uint32_t kRingForLong = 1 << 17;

/// CARIAMA_PRELOAD_AFTER is another number of calls: for tests and benches.
std::uint32_t transfers_before_stream() noexcept {
  static const std::uint32_t instance = [] {
    const char* const text = std::getenv("CARIAMA_PRELOAD_AFTER");
    const int transfers = text == nullptr ? 0 : std::atoi(text);
    return transfers <= 0 ? kTransfers : static_cast<std::uint32_t>(transfers);
  }();
  return instance;
}

}  // namespace

void Connection::begin(bool connected_here, bool other_host) noexcept {
  pending = false;
  connected_here_ = connected_here;
  other_host_ = other_host;
  pinned_ = foreign_ = given_ = is_shared_ = read_shut_ = false;
  armed_ = armed_for_space_ = heard_ = false;
  out_ = Out::kTcp;
  in_ = In::kTcp;
  ahead_.clear();
  rest_ = taken_ = streamed_ = blocked_ = changes_ = 0;
  word_left_ = looks_ = 0;
  transfers_ = 0;
  receives_ = received_ = sends_ = sent_ = 0;
  next_try_ = transfers_before_stream();
  owners_stream_ = nullptr;
  holders_.begin();
  manner_.reset();
}

bool Connection::count_receive(std::size_t bytes) noexcept {
  ++receives_;
  received_ += bytes;
  return count_transfer();
}

bool Connection::count_send(std::size_t bytes) noexcept {
  ++sends_;
  sent_ += bytes;
  return count_transfer();
}

bool Connection::count_transfer() noexcept {
  if (stream_ != nullptr || ++transfers_ < next_try_) return false;
  next_try_ = 2 * transfers_;
  return may_be_carried();
}

std::uint32_t Connection::ring() const noexcept {
  const bool receives_long = received_ > receives_ * kLongTransfer;
  // On RDMA devices what is sent waits in memory as large as the sender's own ring.
  const bool sends_long = other_host_ && sent_ > sends_ * kLongTransfer;
  return receives_long || sends_long ? kRingForLong : streams::kRing;
}

bool Connection::may_be_carried() const noexcept {
  return !pinned_ && !foreign_ && !pending && stream_ == nullptr && holders_.alone();
}

void Connection::carry(std::unique_ptr<streams::Stream> stream) noexcept {
  stream_ = std::move(stream);
  const std::byte here{};
  static_cast<void>(stream_->try_send(std::span(&here, 1)));
  // The peer waits for the end of each direction that has a stream.
  if (out_ == Out::kTcpAgain) stream_->finish_sending();
  wake_all();
}

int Connection::stay_with_tcp() noexcept {
  if (is_carried()) return EOPNOTSUPP;
  pin();
  return 0;
}

int Connection::shut_down(int fd, int how) noexcept {
  if (how != SHUT_RD) end_sending(fd);
  if (how != SHUT_WR) read_shut_ = true;
  const int result = real().shutdown(fd, how);
  wake_all();
  return result;
}

std::unique_ptr<streams::Stream> Connection::end(int fd) noexcept {
  ++generation_;
  if (stream_ != nullptr) {
    if (given_) {
      pass_on(fd);
    } else {
      look_for_end(fd);
    }
    say_word(fd, streamed_, word_left_);
  }
  if (given_) holders_.returned()->abandon();
  holders_.leave();
  for (Registration* const each : registrations) {
    each->gone = true;
    ask_to_look(*each, -1);
  }
  registrations.clear();
  wake_all();
  reset_if_unread(fd);
  ahead_.clear();
  return std::move(stream_);
}

void Connection::end_with_process(int fd) noexcept {
  if (stream_ != nullptr && ends_with_owner()) {
    look_for_end(fd);
    reset_if_unread(fd);
    if (out_ != Out::kTcpAgain) leave_stream();
  }
  holders_.leave_at_exit();
}

bool Connection::settled() noexcept {
  return stream_ == nullptr ||
         stream_->settle(std::chrono::milliseconds(0)) != streams::Status::kTimeout;
}

/// TCP resets a connection that is closed with bytes unread.
void Connection::reset_if_unread(int fd) noexcept {
  if (stream_ == nullptr || given_) return;
  // What an orphan has sent may not have come to the others.
  const bool unread =
      in_ == In::kStream ? stream_readable() != 0 : ahead_.size() != 0 || in_ == In::kOrphaned;
  if (unread) let_close_reset(fd);
}

short Connection::stream_events(int fd) noexcept {
  if (is_returned()) return returned_events(fd);
  if (stream_ == nullptr) return 0;
  hear_peer();
  const bool has_news = look_for_end(fd);
  short events = 0;
  if (in_ == In::kTcp || in_ == In::kStream) {
    if (read_shut_ || ahead_.size() != 0 || has_news) events |= kReadable;
  } else if (in_ == In::kLost || in_ == In::kCut || ahead_.size() != 0 ||
             (waits_for_word() && read_shut_)) {
    events |= kReadable;
  }
  const bool sends = out_ == Out::kStream && in_ != In::kOrphaned;
  if (sends && stream_->send_ready()) events |= kWritable;
  return events;
}

short Connection::tcp_events() const noexcept {
  short events = POLLPRI | POLLRDHUP | POLLERR | POLLHUP | POLLNVAL;
  const Returned* const returned = is_returned() ? holders_.returned() : nullptr;
  if (returned != nullptr ? returned->receives_tcp() : in_ != In::kStream) events |= kReadable;
  if (foreign_ ? returned != nullptr && returned->may_send() : out_ != Out::kStream) {
    events |= kWritable;
  }
  return events;
}

short Connection::tcp_question(short wanted) const noexcept {
  // Also for who does not receive: what the peer says there ends this side's stream, too.
  if (waits_for_word()) wanted |= POLLIN;
  return static_cast<short>(wanted & tcp_events());
}

short Connection::merge(int fd, short tcp) noexcept {
  const In before = in_;
  const bool was_returned = is_returned();
  const short events = stream_events(fd);
  // In this order: the word lies there until the process that takes it has noted what it says.
  const short meant = tcp_events();
  // What the kernel told of may have been the peer's word alone.
  if (in_ != before || was_returned) tcp = levels(fd, tcp);
  return static_cast<short>(events | (tcp & meant));
}

Manner Connection::manner(int fd) noexcept {
  if (!holders_.alone()) return manner_of(fd);
  if (!manner_) manner_ = manner_of(fd);
  return *manner_;
}

int Connection::unread(int fd) noexcept {
  int waiting = 0;
  if (is_returned()) {
    look_at_returned(fd);
    const Returned* const returned = holders_.returned();
    const std::size_t here = returned == nullptr ? 0 : returned->size();
    if (here != 0 || (tcp_events() & POLLIN) == 0) return static_cast<int>(here);
  }
  if (in_ == In::kTcp && stream_ != nullptr) find_beginning(fd);
  if (stream_ != nullptr) look_for_end(fd);
  if (in_ == In::kStream) return static_cast<int>(stream_readable());
  if (ahead_.size() != 0 || waits_for_word()) {
    return static_cast<int>(ahead_.size());
  }
  real().ioctl(fd, FIONREAD, &waiting);
  // Who is told of too few waits for an edge of those that were there before.
  const bool all_of_tcp = in_ == In::kRest && static_cast<std::uint64_t>(waiting) >= rest_;
  return all_of_tcp ? static_cast<int>(rest_ + stream_readable()) : waiting;
}

void Connection::arm(int wake) noexcept {
  if (stream_ == nullptr) return;
  // A stream that was armed while there was space does not tell of space.
  const auto is_full = [&] { return out_ == Out::kStream && !stream_->send_ready(); };
  if (armed_ && (armed_for_space_ || !is_full())) return;
  armed_ = true;
  const bool others =
      sleepers.has_others(wake) ||
      std::any_of(registrations.begin(), registrations.end(),
                  [&](const Registration* each) { return has_others(*each, wake); });
  stream_->arm();
  // Space does not vanish by itself: what is full now was so when it was armed.
  armed_for_space_ = is_full();
  // It took away events that others sleep for, perhaps one that came just now.
  if (others) wake_all(wake);
}

bool Connection::may_receive_ahead() const noexcept {
  return !given_ && stream_ != nullptr && in_ == In::kStream && ahead_.has_room();
}

bool Connection::receive_ahead() noexcept {
  if (!may_receive_ahead()) return false;
  forget_resumable();
  return ahead_.fill(*stream_);
}

std::size_t Connection::stream_readable() const noexcept {
  return ahead_.size() + stream_->readable();
}

std::uint64_t Connection::arrived() noexcept {
  if (foreign_) return changes_ + (holders_.returned() == nullptr ? 0 : holders_.returned()->end());
  return changes_ + taken_ + (stream_ == nullptr ? 0 : stream_readable());
}

void Connection::wake_all(int except) noexcept {
  sleepers.wake(except);
  for (Registration* const each : registrations) ask_to_look(*each, except);
}

}  // namespace preload
