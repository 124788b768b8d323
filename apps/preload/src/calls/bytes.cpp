// SPDX-License-Identifier: MIT
// Exported: what moves bytes. The names that end in _chk are those of programs compiled with
// _FORTIFY_SOURCE.
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "buffers.hpp"
#include "connection.hpp"
#include "descriptor_table.hpp"
#include "poll.hpp"
#include "real.hpp"
#include "splice.hpp"
#include "transfer.hpp"

using namespace preload;

namespace {

constexpr std::size_t kDiscard = 16384;

/// MSG_TRUNC of TCP: the bytes are taken, but not copied.
ssize_t discard(int fd, std::size_t length, int flags) {
  std::array<std::byte, kDiscard> scratch;
  std::size_t done = 0;
  for (;;) {
    const std::size_t wanted = std::min(length - done, kDiscard);
    const iovec into{scratch.data(), wanted};
    const ssize_t bytes = receive(fd, std::span(&into, 1), flags);
    if (bytes < 0) return done != 0 ? static_cast<ssize_t>(done) : -1;
    done += static_cast<std::size_t>(bytes);
    const bool is_peek = (flags & MSG_PEEK) != 0;
    if (static_cast<std::size_t>(bytes) < wanted || done == length || is_peek) break;
    // Only who wants all waits for more.
    if ((flags & MSG_WAITALL) == 0) flags |= MSG_DONTWAIT;
  }
  return static_cast<ssize_t>(done);
}

ssize_t receive_any(int fd, std::span<const iovec> buffers, int flags) {
  if ((flags & MSG_TRUNC) != 0) return discard(fd, length_of(buffers), flags & ~MSG_TRUNC);
  return receive(fd, buffers, flags);
}

ssize_t receive_one(int fd, void* into, std::size_t length, int flags) {
  const iovec buffer{into, length};
  return receive_any(fd, std::span(&buffer, 1), flags);
}

ssize_t send_one(int fd, const void* from, std::size_t length, int flags) {
  const iovec buffer{const_cast<void*>(from), length};
  return send(fd, std::span(&buffer, 1), flags);
}

bool is_valid(int count) {
  if (count >= 0 && count <= IOV_MAX) return true;
  errno = EINVAL;
  return false;
}

/// Of the flags of preadv2(2) only this one changes what a socket does.
int waits_as(int flags) { return (flags & RWF_NOWAIT) != 0 ? MSG_DONTWAIT : 0; }

bool has_valid_parts(const msghdr& message) {
  if (message.msg_iovlen <= IOV_MAX) return true;
  errno = EMSGSIZE;
  return false;
}

ssize_t send_message(int fd, const msghdr* message, int flags) {
  if (!has_valid_parts(*message)) return -1;
  return preload::send(fd, std::span(message->msg_iov, message->msg_iovlen), flags);
}

/// False: it is no connection, or one that stays TCP from now on.
bool must_be_copied(int fd) {
  const auto connection = table().lock<Connection>(fd);
  return connection && connection->stay_with_tcp() != 0;
}

bool is_pipe(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

/// Another process will have a copy of connections that a message on another socket carries.
void pin_passed(const msghdr* message) {
  if (message == nullptr || message->msg_controllen < CMSG_LEN(sizeof(int))) return;
  auto* const all = const_cast<msghdr*>(message);
  for (cmsghdr* each = CMSG_FIRSTHDR(all); each != nullptr; each = CMSG_NXTHDR(all, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t bytes = each->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(each) + at, sizeof fd);
      if (const auto connection = table().lock<Connection>(fd)) connection->pin();
    }
  }
}

/// TCP gives neither an address nor control data.
ssize_t receive_message(int fd, msghdr* message, int flags) {
  if (!has_valid_parts(*message)) return -1;
  const ssize_t bytes = receive_any(fd, std::span(message->msg_iov, message->msg_iovlen), flags);
  if (bytes >= 0) {
    message->msg_namelen = 0;
    message->msg_controllen = 0;
    message->msg_flags = 0;
  }
  return bytes;
}

/// Calls `step` for each message until one fails or `end` is over; how many did not fail.
template <class Step>
int for_messages(mmsghdr* messages, unsigned count, End end, Step step) {
  for (unsigned i = 0; i < count; ++i) {
    const ssize_t bytes = step(&messages[i].msg_hdr, i);
    if (bytes < 0) return i == 0 ? -1 : static_cast<int>(i);
    messages[i].msg_len = static_cast<unsigned>(bytes);
    if (over(end)) return static_cast<int>(i + 1);
  }
  return static_cast<int>(count);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ssize_t read(int fd, void* into, std::size_t length) {
  if (!is_connection(fd)) return real().read(fd, into, length);
  return receive_one(fd, into, length, 0);
}
ssize_t __read_chk(int fd, void* into, std::size_t length, std::size_t) {
  return read(fd, into, length);
}

ssize_t write(int fd, const void* from, std::size_t length) {
  if (!is_connection(fd)) return real().write(fd, from, length);
  return send_one(fd, from, length, 0);
}

ssize_t readv(int fd, const iovec* buffers, int count) {
  if (!is_connection(fd)) return real().readv(fd, buffers, count);
  if (!is_valid(count)) return -1;
  return receive(fd, std::span(buffers, static_cast<std::size_t>(count)), 0);
}

ssize_t writev(int fd, const iovec* buffers, int count) {
  if (!is_connection(fd)) return real().writev(fd, buffers, count);
  if (!is_valid(count)) return -1;
  return send(fd, std::span(buffers, static_cast<std::size_t>(count)), 0);
}

/// A socket has no places: -1 is the next bytes.
ssize_t preadv64v2(int fd, const iovec* buffers, int count, off64_t offset, int flags) {
  if (!is_connection(fd) || offset != -1) return real().preadv2(fd, buffers, count, offset, flags);
  if (!is_valid(count)) return -1;
  return receive(fd, std::span(buffers, static_cast<std::size_t>(count)), waits_as(flags));
}
ssize_t preadv2(int fd, const iovec* buffers, int count, off_t offset, int flags) {
  return preadv64v2(fd, buffers, count, offset, flags);
}

ssize_t pwritev64v2(int fd, const iovec* buffers, int count, off64_t offset, int flags) {
  if (!is_connection(fd) || offset != -1) return real().pwritev2(fd, buffers, count, offset, flags);
  if (!is_valid(count)) return -1;
  return send(fd, std::span(buffers, static_cast<std::size_t>(count)), waits_as(flags));
}
ssize_t pwritev2(int fd, const iovec* buffers, int count, off_t offset, int flags) {
  return pwritev64v2(fd, buffers, count, offset, flags);
}

ssize_t recv(int fd, void* into, std::size_t length, int flags) {
  if (!is_connection(fd) || (flags & MSG_ERRQUEUE) != 0) {
    return real().recv(fd, into, length, flags);
  }
  return receive_one(fd, into, length, flags);
}
ssize_t __recv_chk(int fd, void* into, std::size_t length, std::size_t, int flags) {
  return recv(fd, into, length, flags);
}

ssize_t recvfrom(int fd, void* into, std::size_t length, int flags, sockaddr* address,
                 socklen_t* size) {
  if (!is_connection(fd) || (flags & MSG_ERRQUEUE) != 0) {
    return real().recvfrom(fd, into, length, flags, address, size);
  }
  const ssize_t bytes = receive_one(fd, into, length, flags);
  if (bytes >= 0 && address != nullptr && size != nullptr) *size = 0;
  return bytes;
}
ssize_t __recvfrom_chk(int fd, void* into, std::size_t length, std::size_t, int flags,
                       sockaddr* address, socklen_t* size) {
  return recvfrom(fd, into, length, flags, address, size);
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  if (!is_connection(fd) || (flags & MSG_ERRQUEUE) != 0) {
    return real().recvmsg(fd, message, flags);
  }
  return receive_message(fd, message, flags);
}

int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  if (!is_connection(fd)) return real().recvmmsg(fd, messages, count, flags, timeout);
  const int rest = (flags & MSG_WAITFORONE) != 0 ? flags | MSG_DONTWAIT : flags;
  // As in the kernel, it is looked at when a message has come.
  return for_messages(messages, count, end_after(timeout), [&](msghdr* message, unsigned index) {
    return receive_message(fd, message, index == 0 ? flags : rest);
  });
}

ssize_t send(int fd, const void* from, std::size_t length, int flags) {
  if (!is_connection(fd)) return real().send(fd, from, length, flags);
  return send_one(fd, from, length, flags);
}

ssize_t sendto(int fd, const void* from, std::size_t length, int flags, const sockaddr* address,
               socklen_t size) {
  if (!is_connection(fd)) return real().sendto(fd, from, length, flags, address, size);
  return send_one(fd, from, length, flags);
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (!is_connection(fd)) {
    pin_passed(message);
    return real().sendmsg(fd, message, flags);
  }
  return send_message(fd, message, flags);
}

int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  if (!is_connection(fd)) return real().sendmmsg(fd, messages, count, flags);
  return for_messages(messages, count, std::nullopt,
                      [&](msghdr* message, unsigned) { return send_message(fd, message, flags); });
}

ssize_t sendfile64(int fd, int file, off64_t* offset, std::size_t length) noexcept {
  if (!is_connection(fd)) return real().sendfile(fd, file, offset, length);
  return send_file(fd, file, offset, length);
}
ssize_t sendfile(int fd, int file, off_t* offset, std::size_t length) noexcept {
  static_assert(sizeof(off_t) == sizeof(off64_t));
  return sendfile64(fd, file, offset, length);
}

ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset, std::size_t length,
               unsigned flags) {
  const bool receives = must_be_copied(from);
  const bool sends = must_be_copied(to);
  if (!receives && !sends) {
    return real().splice(from, from_offset, to, to_offset, length, flags);
  }
  // Programs have another way for what cannot be spliced, which is faster than a copy. But
  // what they have in a pipe may have come from TCP.
  if (receives || to_offset != nullptr || !is_pipe(from)) {
    errno = EINVAL;
    return -1;
  }
  return splice_to_connection(from, to, length, flags);
}

}  // extern "C"
#pragma GCC visibility pop
