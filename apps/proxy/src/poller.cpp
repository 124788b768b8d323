// SPDX-License-Identifier: MIT
// Batches of events.
#include "proxy/poller.hpp"

#include <cerrno>

#include "dtutils/error.hpp"

namespace proxy {

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) {
    throw dtutils::Error("epoll", "it cannot be made", "let the process open more files", errno);
  }
}

void Poller::add(int fd, std::uint32_t events, Watched& watched) noexcept {
  epoll_event event{.events = events, .data = {.ptr = &watched}};
  (void)::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event);
}

void Poller::change(int fd, std::uint32_t events, Watched& watched) noexcept {
  epoll_event event{.events = events, .data = {.ptr = &watched}};
  (void)::epoll_ctl(epoll_.fd(), EPOLL_CTL_MOD, fd, &event);
}

void Poller::remove(int fd) noexcept { (void)::epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, fd, nullptr); }

void Poller::wait(int timeout) noexcept {
  const int count = ::epoll_wait(epoll_.fd(), events_.data(), static_cast<int>(kBatch), timeout);
  count_ = count < 0 ? 0 : static_cast<std::size_t>(count);
}

void Poller::dispatch() {
  for (std::size_t i = 0; i < count_; ++i) {
    static_cast<Watched*>(events_[i].data.ptr)->ready(events_[i].events);
  }
}

}  // namespace proxy
