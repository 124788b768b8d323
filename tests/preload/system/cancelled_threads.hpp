// SPDX-License-Identifier: MIT
// Threads that are cancelled while they wait for a connection, in each kind of call.
#pragma once

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <cstdio>

#include "carried_pair.hpp"

enum class Wait { kReceive, kPoll, kSelect, kEpoll, kSend };

/// Waits until the thread is cancelled.
inline void wait_by(Wait wait, int fd) {
  char byte;
  pollfd entry{fd, POLLIN, 0};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  epoll_event event{};
  event.events = EPOLLIN;
  switch (wait) {
    case Wait::kReceive:
      recv(fd, &byte, 1, 0);
      break;
    case Wait::kPoll:
      poll(&entry, 1, -1);
      break;
    case Wait::kSelect:
      select(fd + 1, &set, nullptr, nullptr, nullptr);
      break;
    case Wait::kEpoll: {
      const int epoll = epoll_create1(0);
      epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
      epoll_wait(epoll, &event, 1, -1);
      break;
    }
    case Wait::kSend:
      for (;;) send(fd, "x", 1, 0);
  }
}

inline void cancel_threads(bool carried) {
  for (const Wait wait : {Wait::kReceive, Wait::kPoll, Wait::kSelect, Wait::kEpoll, Wait::kSend}) {
    Pair pair(carried);
    struct Task {
      Wait wait;
      int fd;
    } task{wait, pair.one};
    pthread_t thread;
    const auto body = [](void* of) -> void* {
      wait_by(static_cast<Task*>(of)->wait, static_cast<Task*>(of)->fd);
      return nullptr;
    };
    need(pthread_create(&thread, nullptr, body, &task) == 0, "pthread_create");
    nap(30);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    std::printf("cancelled: %d\n", result == PTHREAD_CANCELED);
    Pair::pass(pair.other, pair.one);
  }
}
