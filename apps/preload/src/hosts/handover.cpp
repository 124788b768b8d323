// SPDX-License-Identifier: MIT
// Descriptors over Unix-domain sockets (SCM_RIGHTS), between processes of one user.
#include "hosts/handover.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dtutils/error.hpp"
#include "local_name.hpp"
#include "real.hpp"

namespace preload::hosts {
namespace {

constexpr int kVisitorsThatWait = 8;
/// The broker sends right after it has connected.
constexpr timespec kHandover{0, 200'000'000};

/// Room for a control message with one descriptor.
union Rights {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

int local_socket() noexcept {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

bool is_of_this_user(int fd) noexcept {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

int receive_descriptor(int from) noexcept {
  pollfd entry{from, POLLIN, 0};
  if (real().ppoll(&entry, 1, &kHandover, nullptr) <= 0) return -1;
  char byte;
  iovec part{&byte, 1};
  Rights rights;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = rights.bytes;
  message.msg_controllen = sizeof rights.bytes;
  if (real().recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int))) {
    return -1;
  }
  int fd;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

}  // namespace

Offer::Offer(std::string_view connection) : socket_(local_socket()) {
  const LocalName name(connection);
  if (socket_ < 0 || bind(socket_, name.get(), name.length) != 0 ||
      real().listen(socket_, kVisitorsThatWait) != 0) {
    const int code = errno;
    if (socket_ >= 0) real().close(socket_);
    throw dtutils::Error("offer of a stream", "nobody can listen under this name",
                         "end the process that has it", code);
  }
}

Offer::~Offer() { real().close(socket_); }

int Offer::take() noexcept {
  const int from = real().accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (from < 0) return -1;
  const int taken = is_of_this_user(from) ? receive_descriptor(from) : -1;
  real().close(from);
  return taken;
}

Recipient::Recipient(std::string_view connection) noexcept : socket_(local_socket()) {
  const LocalName name(connection);
  if (socket_ < 0 ||
      (real().connect(socket_, name.get(), name.length) == 0 && is_of_this_user(socket_))) {
    return;
  }
  real().close(socket_);
  socket_ = -1;
}

Recipient::~Recipient() {
  if (socket_ >= 0) real().close(socket_);
}

bool Recipient::give(int connection) noexcept {
  char byte = 0;
  iovec part{&byte, 1};
  Rights rights{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = rights.bytes;
  message.msg_controllen = sizeof rights.bytes;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof connection);
  std::memcpy(CMSG_DATA(header), &connection, sizeof connection);
  return real().sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

}  // namespace preload::hosts
