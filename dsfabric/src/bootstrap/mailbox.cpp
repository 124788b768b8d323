// SPDX-License-Identifier: MIT
// Mailbox: one reader sorts for both.
#include "bootstrap/mailbox.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/poll_until.hpp"

namespace dsfabric::rendezvous {
namespace {

bool is_news(Type type) noexcept {
  return type == Type::kFailed || type == Type::kLetter || type == Type::kEvent;
}

}  // namespace

Mailbox::Mailbox(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  for (const int fd : {connection_->fd(), informed_.fd()}) {
    epoll_event event{EPOLLIN, {}};
    event.data.fd = fd;
    if (epoll_ >= 0 && epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0) continue;
    const int code = errno;
    if (epoll_ >= 0) close(epoll_);
    throw dtutils::Error("rendezvous", "epoll is not to be had", "raise `ulimit -n`", code);
  }
}

Mailbox::~Mailbox() { close(epoll_); }

void Mailbox::send(Type type, std::span<const std::byte> body) {
  const std::scoped_lock lock(mutex_);
  // Where it is broken, the next look says so.
  (void)connection_->send(type, body);
  watch_for_room();
}

void Mailbox::watch_for_room() noexcept {
  const bool wants = connection_->has_queued() && !closed_;
  if (wants == wants_room_) return;
  wants_room_ = wants;
  epoll_event event{EPOLLIN | (wants ? EPOLLOUT : 0u), {}};
  event.data.fd = connection_->fd();
  epoll_ctl(epoll_, EPOLL_CTL_MOD, connection_->fd(), &event);
}

void Mailbox::read() {
  if (closed_) return;
  bool open = connection_->flush();
  open = connection_->receive(kMaxFrame) && open;
  const std::size_t answers = answers_.size();
  const std::size_t news = news_.size();
  while (auto frame = connection_->next()) {
    (is_news(frame->type) ? news_ : answers_).push_back(std::move(*frame));
  }
  if (!open) {
    closed_ = true;
    news_.push_back({Type::kFailed, {}});
    // It stays readable for ever, and nobody shall be woken by that.
    epoll_ctl(epoll_, EPOLL_CTL_DEL, connection_->fd(), nullptr);
  }
  if (answers_.size() != answers || closed_) answered_.wake();
  if (news_.size() != news) informed_.wake();
  if (!closed_) watch_for_room();
}

Mailbox::Outcome Mailbox::wait_for_answer(Frame& answer, std::chrono::steady_clock::time_point by) {
  for (;;) {
    pollfd waiting[] = {{connection_->fd(), POLLIN, 0}, {answered_.fd(), POLLIN, 0}};
    {
      const std::scoped_lock lock(mutex_);
      read();
      if (!answers_.empty()) {
        answer = std::move(answers_.front());
        answers_.pop_front();
        return Outcome::kFrame;
      }
      if (closed_) return Outcome::kClosed;
      answered_.clear();
      if (connection_->has_queued()) waiting[0].events |= POLLOUT;
    }
    if (std::chrono::steady_clock::now() >= by) return Outcome::kLate;
    dtutils::poll_until(waiting, by);
  }
}

std::optional<Frame> Mailbox::next_news(Type type) {
  const std::scoped_lock lock(mutex_);
  read();
  if (news_.empty()) {
    informed_.clear();
    return std::nullopt;
  }
  if (news_.front().type != type) return std::nullopt;
  Frame frame = std::move(news_.front());
  news_.pop_front();
  return frame;
}

}  // namespace dsfabric::rendezvous
