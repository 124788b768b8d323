// SPDX-License-Identifier: MIT
// A connection of which both sides are in this process, over a stream when it shall be.
#pragma once

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

[[noreturn]] inline void fail(const char* what) {
  std::perror(what);
  std::abort();
}
inline void need(bool good, const char* what) {
  if (!good) fail(what);
}

inline void nap(int time) { std::this_thread::sleep_for(std::chrono::milliseconds(time)); }

inline std::uint64_t sent_over_tcp(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  need(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0, "TCP_INFO");
  return info.tcpi_bytes_sent;
}

struct Pair {
  explicit Pair(bool carried) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    need(bind(listener, as_any(address), length) == 0 && listen(listener, 4) == 0, "listen");
    getsockname(listener, as_any(address), &length);
    name = address;
    need(connect(one, as_any(address), length) == 0, "connect");
    other = accept(listener, nullptr, nullptr);
    const int on = 1;
    setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(other, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (std::uint64_t before = 0, now = 1; carried && now != before;) {
      need(std::chrono::steady_clock::now() < end, "went over a stream");
      before = now;
      pass(one, other);
      pass(other, one);
      now = sent_over_tcp(one) + sent_over_tcp(other);
      nap(1);
    }
  }
  ~Pair() {
    close(one);
    close(other);
    close(listener);
  }
  static sockaddr* as_any(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }
  static void pass(int from, int to) {
    std::array<char, 4> word;
    need(send(from, "word", 4, 0) == 4, "send");
    need(recv(to, word.data(), 4, MSG_WAITALL) == 4, "recv");
  }

  int listener = socket(AF_INET, SOCK_STREAM, 0);
  int one = socket(AF_INET, SOCK_STREAM, 0);
  int other = -1;
  sockaddr_in name{};
};
