// SPDX-License-Identifier: MIT
// How a program says what calls answer.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "carried_pair.hpp"

inline void say(const char* what, ssize_t answer) {
  const char* const code = answer < 0 ? strerrorname_np(errno) : "";
  std::printf("%s: %zd %s\n", what, answer, code);
}

/// Bytes that were sent are there at once over a stream, and soon over TCP.
inline void put(int fd, const char* text) {
  need(send(fd, text, std::strlen(text), 0) >= 0, "send");
  nap(10);
}

inline ssize_t take(int fd, int flags = MSG_DONTWAIT) {
  std::array<char, 4096> buffer;
  return recv(fd, buffer.data(), buffer.size(), flags);
}
