// SPDX-License-Identifier: MIT
// Eight bytes, as the machine has them: a stream has both sides on machines of one kind.
#include "word.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>

#include "kernel_socket.hpp"
#include "real.hpp"

namespace preload {
namespace {

/// TCP keeps a few bytes back until those before are acknowledged, for 40 ms, unless it is told
/// otherwise.
void send_at_once(int fd) noexcept {
  int at_once = 0;
  socklen_t size = sizeof at_once;
  if (getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, &size) != 0 || at_once != 0) return;
  at_once = 1;
  real().setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  at_once = 0;
  real().setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
}

}  // namespace

std::optional<Heard> hear_word(int fd) noexcept {
  // In this order: what came before the end is there. A receive could take an error off.
  const bool ended = has_ended(fd);
  int waiting = 0;
  real().ioctl(fd, FIONREAD, &waiting);
  Word word = 0;
  if (waiting >= static_cast<int>(sizeof word)) {
    real().recv(fd, &word, sizeof word, MSG_DONTWAIT);
    return Heard{false, word};
  }
  if (!ended) return std::nullopt;
  // A part of it is none that any stream has.
  return waiting == 0 ? Heard{true, 0} : Heard{false, UINT64_MAX};
}

int say_word(int fd, Word word, unsigned& left) noexcept {
  while (left != 0) {
    const char* const rest = reinterpret_cast<const char*>(&word) + sizeof word - left;
    const ssize_t bytes = real().send(fd, rest, left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (bytes < 0) return errno;
    left -= static_cast<unsigned>(bytes);
    if (left == 0) send_at_once(fd);
  }
  return 0;
}

}  // namespace preload
