// SPDX-License-Identifier: MIT
// What epoll instances answer, also those inside of others, and with copies of descriptors.
#pragma once

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <thread>

#include "answers.hpp"
#include "carried_pair.hpp"

inline int wait_for_events(int epoll, int milliseconds = 30) {
  std::array<epoll_event, 4> events;
  return epoll_wait(epoll, events.data(), events.size(), milliseconds);
}

inline void epolls(bool carried) {
  Pair pair(carried);
  const int epoll = epoll_create1(0);
  const auto control = [&](const char* what, int operation, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    say(what, epoll_ctl(epoll, operation, pair.other, &event));
  };
  control("exclusive", EPOLL_CTL_ADD, EPOLLIN | EPOLLEXCLUSIVE);
  put(pair.one, "x");
  say("events", wait_for_events(epoll));
  control("changes an exclusive one", EPOLL_CTL_MOD, EPOLLIN);
  control("removes", EPOLL_CTL_DEL, 0);
  control("exclusive, one shot", EPOLL_CTL_ADD, EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT);
  control("exclusive, half closed", EPOLL_CTL_ADD, EPOLLRDHUP | EPOLLEXCLUSIVE);
  control("no such operation", 17, EPOLLIN);
  control("space, edges", EPOLL_CTL_ADD, EPOLLOUT | EPOLLET);
  say("events", wait_for_events(epoll));
  say("events", wait_for_events(epoll));
  close(epoll);
}

inline void add(int epoll, int fd, std::uint32_t events = EPOLLIN) {
  epoll_event event{};
  event.events = events;
  need(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

/// Until the library has left the connection to the kernel.
inline void fall_asleep(int epoll) { say("nothing", wait_for_events(epoll)); }

inline void epolls_that_do_not_wait(bool carried) {
  Pair pair(carried);
  const int epoll = epoll_create1(0);
  add(epoll, pair.other);
  fall_asleep(epoll);
  put(pair.one, "x");
  say("without waiting", wait_for_events(epoll, 0));
  close(epoll);
}

inline void epolls_with_copies(bool carried) {
  Pair pair(carried);
  const int epoll = epoll_create1(0);
  const int copy = dup(pair.other);
  add(epoll, pair.other);
  add(epoll, copy);
  fall_asleep(epoll);
  put(pair.one, "x");
  say("both", wait_for_events(epoll));
  say("receive", take(copy));
  need(epoll_ctl(epoll, EPOLL_CTL_DEL, pair.other, nullptr) == 0, "epoll_ctl");
  fall_asleep(epoll);
  put(pair.one, "x");
  say("the copy", wait_for_events(epoll));
  say("receive", take(copy));
  // Another connection gets the number.
  const int number = pair.other;
  close(pair.other);
  pair.other = copy;
  Pair next(carried);
  need(dup2(next.other, number) == number, "dup2");
  add(epoll, number);
  fall_asleep(epoll);
  put(next.one, "x");
  say("the next one", wait_for_events(epoll));
  say("receive", take(number));
  fall_asleep(epoll);
  put(pair.one, "x");
  say("the copy", wait_for_events(epoll));
  close(number);
  close(epoll);
}

inline int wait_by_select(int fd) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  timeval limit{5, 0};
  return select(fd + 1, &set, nullptr, nullptr, &limit);
}

inline int wait_by_poll(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, 5000);
}

/// The number that was registered is closed, and a copy keeps the connection.
inline void epolls_of_closed_numbers(bool carried) {
  Pair pair(carried);
  const int epoll = epoll_create1(0);
  const int copy = dup(pair.other);
  add(epoll, pair.other);
  close(pair.other);
  epoll_event event{};
  event.events = EPOLLIN;
  say("changes it", epoll_ctl(epoll, EPOLL_CTL_MOD, pair.other, &event));
  pair.other = copy;
  put(pair.one, "x");
  say("event", wait_for_events(epoll));
  close(epoll);
}

/// An epoll instance inside of what waits.
template <class Wait>
void say_inner(const char* what, bool carried, Wait wait) {
  Pair pair(carried);
  const int inner = epoll_create1(0);
  add(inner, pair.other);
  for (const bool sleeps : {false, true}) {
    if (sleeps) fall_asleep(inner);
    std::thread late([&] {
      nap(30);
      put(pair.one, "x");
    });
    say(what, wait(inner));
    say("inner", wait_for_events(inner));
    say("there already", wait(inner));
    late.join();
    say("receive", take(pair.other));
    say("inner", wait_for_events(inner, 0));
  }
  close(inner);
}

inline void say_epoll_answers(bool carried) {
  epolls(carried);
  epolls_that_do_not_wait(carried);
  epolls_with_copies(carried);
  epolls_of_closed_numbers(carried);
  say_inner("poll", carried, wait_by_poll);
  say_inner("select", carried, wait_by_select);
  for (const std::uint32_t edges : {0u, static_cast<std::uint32_t>(EPOLLET)}) {
    const int outer = epoll_create1(0);
    say_inner("epoll", carried, [&](int inner) {
      epoll_event event{};
      event.events = EPOLLIN | edges;
      epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event);
      epoll_ctl(outer, EPOLL_CTL_MOD, inner, &event);
      return wait_for_events(outer, 5000);
    });
    close(outer);
  }
}
