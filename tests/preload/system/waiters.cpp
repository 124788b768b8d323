// SPDX-License-Identifier: MIT
// Hunts for wakeups that are lost: waiters "WAY..." MILLISECONDS. A server and its clients, all in
// this process, send each other bytes and wait in all kinds of ways; who waits for kLong in vain
// ends the program. WAYS are words of: level, edge, oneshot, exclusive; one, threads (that wait at
// one instance); sets (three instances hold each connection); copies (a copy of the descriptor is
// registered, too), split (a copy is registered for space); inner (an instance inside of another
// one), inner_poll (in a poll); poll (two threads), mixed (one, and the instances).
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "carried_pair.hpp"

namespace {

using std::chrono::steady_clock;

constexpr std::uint64_t kConnections = 6;
constexpr int kLong = 20'000;
/// In the data of an event: it is about the copy.
constexpr std::uint64_t kCopy = 1000;
constexpr std::size_t kLongest = 40'000;

std::string ways;
bool has(const char* way) {
  return (" " + ways + " ").find(" " + std::string(way) + " ") != ways.npos;
}

/// A connection; the server's side echoes.
struct Echo {
  Pair pair{true};
  int copy = dup(pair.other);
  std::mutex mutex;
  std::string waiting;

  /// Takes and sends what goes. Whether there is more to send.
  bool serve() {
    std::array<char, 3000> part;
    for (ssize_t n; (n = recv(pair.other, part.data(), part.size(), MSG_DONTWAIT)) > 0;) {
      waiting.append(part.data(), static_cast<std::size_t>(n));
    }
    while (!waiting.empty()) {
      const ssize_t n = send(pair.other, waiting.data(), waiting.size(), MSG_DONTWAIT);
      if (n < 0) break;
      waiting.erase(0, static_cast<std::size_t>(n));
    }
    return !waiting.empty();
  }
};

std::vector<std::unique_ptr<Echo>> echoes;

void control(int epoll, int operation, int fd, std::uint64_t data, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  need(epoll_ctl(epoll, operation, fd, &event) == 0, "epoll_ctl");
}

std::uint32_t first_events() {
  std::uint32_t events = EPOLLIN;
  if (has("edge")) events |= EPOLLET | EPOLLOUT;
  if (has("oneshot")) events |= EPOLLONESHOT;
  if (has("exclusive")) events |= EPOLLEXCLUSIVE;
  return events;
}

void serve_event(int epoll, const epoll_event& event) {
  Echo& echo = *echoes[event.data.u64 % kCopy];
  const std::scoped_lock lock(echo.mutex);
  const std::uint32_t out = echo.serve() ? EPOLLOUT : 0u;
  const std::uint64_t index = event.data.u64 % kCopy;
  if (has("split")) {
    control(epoll, EPOLL_CTL_MOD, echo.copy, index + kCopy, out);
  } else if (has("oneshot") || has("level")) {
    const bool copy = event.data.u64 >= kCopy;
    const std::uint32_t once = has("oneshot") ? EPOLLONESHOT : 0u;
    control(epoll, EPOLL_CTL_MOD, copy ? echo.copy : echo.pair.other, event.data.u64,
            EPOLLIN | out | once);
  }
}

/// `outer`: where it waits for the instance; -1: by poll. Both only with an inner one.
[[noreturn]] void serve_epoll(int epoll, int outer) {
  std::array<epoll_event, 8> events;
  const bool inner = has("inner") || has("inner_poll");
  for (;;) {
    pollfd entry{epoll, POLLIN, 0};
    if (inner && outer >= 0) epoll_wait(outer, events.data(), 1, -1);
    if (inner && outer < 0) poll(&entry, 1, -1);
    const int most = has("one") ? 1 : static_cast<int>(events.size());
    const int count = epoll_wait(epoll, events.data(), most, inner ? 0 : -1);
    for (int i = 0; i < count; ++i) serve_event(epoll, events[static_cast<std::size_t>(i)]);
  }
}

[[noreturn]] void serve_poll(Echo& echo) {
  for (bool more = false;;) {
    pollfd entry{echo.pair.other, static_cast<short>(more ? POLLIN | POLLOUT : POLLIN), 0};
    poll(&entry, 1, -1);
    const std::scoped_lock lock(echo.mutex);
    more = echo.serve();
  }
}

bool wait_for_bytes(int fd, int epoll, unsigned way) {
  if (way == 0) return true;  // In the receive.
  pollfd entry{fd, POLLIN, 0};
  epoll_event event;
  if (way == 1) return poll(&entry, 1, kLong) == 1;
  if (way == 2) return epoll_wait(epoll, &event, 1, kLong) == 1;
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  timeval limit{kLong / 1000, 0};
  return select(fd + 1, &set, nullptr, nullptr, &limit) == 1;
}

[[noreturn]] void lose(const char* where) {
  std::printf("a wakeup is lost: %s\n", where);
  std::fflush(stdout);
  std::_Exit(1);
}

void send_all(int fd, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, 0);
    if (n <= 0) lose("send");
    sent += static_cast<std::size_t>(n);
  }
}

void talk(Echo& echo, unsigned seed, steady_clock::time_point end) {
  const int fd = echo.pair.one;
  std::mt19937 random(seed);
  const timeval limit{kLong / 1000, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int epoll = epoll_create1(0);
  control(epoll, EPOLL_CTL_ADD, fd, 0, EPOLLIN);
  while (steady_clock::now() < end) {
    std::string bytes(1 + random() % (random() % 8 == 0 ? kLongest : 200), ' ');
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random()); });
    std::thread sender([&] { send_all(fd, bytes); });
    std::string back(bytes.size(), ' ');
    const unsigned way = random() % 4;
    for (std::size_t got = 0; got < back.size();) {
      if (!wait_for_bytes(fd, epoll, way)) lose("wait");
      const ssize_t n = recv(fd, back.data() + got, back.size() - got, 0);
      if (n <= 0) lose("receive");
      got += static_cast<std::size_t>(n);
    }
    sender.join();
    need(back == bytes, "the same bytes");
    if (random() % 16 == 0) usleep(random() % 2000);
  }
}

void begin_serving() {
  std::vector<std::thread> threads;
  const bool sets_serve = !has("poll");
  for (const auto& echo : echoes) {
    for (int i = 0; i < (has("mixed") ? 1 : has("poll") ? 2 : 0); ++i) {
      threads.emplace_back(serve_poll, std::ref(*echo));
    }
  }
  for (int set = 0; sets_serve && set < (has("sets") ? 3 : 1); ++set) {
    const int epoll = epoll_create1(0);
    for (std::uint64_t i = 0; i < kConnections; ++i) {
      control(epoll, EPOLL_CTL_ADD, echoes[i]->pair.other, i, first_events());
      const bool split = has("split");
      if (!split && !has("copies")) continue;
      control(epoll, EPOLL_CTL_ADD, echoes[i]->copy, i + kCopy, split ? 0 : first_events());
    }
    int outer = -1;
    if (has("inner")) {
      outer = epoll_create1(0);
      control(outer, EPOLL_CTL_ADD, epoll, 0, EPOLLIN);
    }
    for (int i = 0; i < (has("threads") ? 3 : 1); ++i) {
      threads.emplace_back(serve_epoll, epoll, outer);
    }
  }
  for (std::thread& each : threads) each.detach();
}

}  // namespace

int main(int, char** arguments) {
  ways = arguments[1];
  for (std::uint64_t i = 0; i < kConnections; ++i) echoes.push_back(std::make_unique<Echo>());
  begin_serving();
  const auto end = steady_clock::now() + std::chrono::milliseconds(std::atoi(arguments[2]));
  std::vector<std::thread> clients;
  for (std::uint64_t i = 0; i < kConnections; ++i) {
    clients.emplace_back(talk, std::ref(*echoes[i]), static_cast<unsigned>(i + 1), end);
  }
  for (std::thread& each : clients) each.join();
  std::puts("done");
  std::fflush(stdout);
  std::_Exit(0);
}
