// SPDX-License-Identifier: MIT
// The three ways that streams_bench carries bytes between its two processes.
#include "bench/streams/links.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>

#include "dtutils/wait.hpp"

namespace streams_bench {
namespace {

using streams::Result;
using streams::Status;

constexpr std::chrono::milliseconds kPatience{10'000};

void must(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string("streams_bench: ") + what + " failed");
}

/// Calls `step` until it has done `size` bytes; `idle` waits when it could do none.
template <class Step, class Idle>
void all_of(std::size_t size, Step step, Idle idle) {
  for (std::size_t done = 0; done < size;) {
    const std::size_t bytes = step(done);
    done += bytes;
    if (bytes == 0) idle();
  }
}

std::size_t bytes_of(Result result) {
  must(result.status == Status::kOk || result.status == Status::kWouldBlock, "a stream");
  return result.bytes;
}

std::size_t bytes_of(ssize_t result) {
  must(result > 0 || (result < 0 && errno == EAGAIN), "a socket");
  return result > 0 ? static_cast<std::size_t>(result) : 0;
}

template <class Ready>
void idle(streams::Stream& stream, Waiting waiting, Ready ready) {
  if (waiting == Waiting::kBusy) return dtutils::cpu_pause();
  stream.arm();
  if (ready()) return;
  pollfd entry{stream.descriptor(), POLLIN, 0};
  poll(&entry, 1, 100);
}

/// One end of a new connection of that family: process 0 listens.
int connected(bench::Channel& channel, int family) {
  sockaddr_storage address{};
  socklen_t length = family == AF_UNIX ? sizeof(sa_family_t) : sizeof(sockaddr_in);
  address.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  const int door = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  must(door >= 0, "socket");
  if (channel.rank() == 0) {
    // The kernel chooses the port, or the name in the abstract namespace.
    must(bind(door, raw, length) == 0 && listen(door, 1) == 0, "listen");
    length = sizeof address;
    must(getsockname(door, raw, &length) == 0, "getsockname");
  }
  struct Place {
    sockaddr_storage address;
    socklen_t length;
  };
  const Place there = channel.exchange(Place{address, length});
  int fd = door;
  if (channel.rank() == 0) {
    fd = accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
    close(door);
  } else {
    must(connect(door, reinterpret_cast<const sockaddr*>(&there.address), there.length) == 0,
         "connect");
  }
  must(fd >= 0, "accept");
  if (family == AF_INET) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return fd;
}

}  // namespace

StreamLink::StreamLink(bench::Channel& channel, dtutils::ProtectionDomain& domain,
                       const streams::StreamOptions& options) {
  const pid_t there = channel.exchange(getpid());
  const pid_t first = channel.rank() == 0 ? getpid() : there;
  const std::string name = "streams_bench-" + std::to_string(first);
  if (channel.rank() == 0) {
    stream_ = streams::Listener(domain, name, options).accept(kPatience);
    must(stream_ != nullptr, "accept");
  } else {
    stream_ = streams::connect(domain, name, kPatience, options);
  }
}

void StreamLink::send(std::span<const std::byte> bytes, Waiting waiting) {
  if (waiting == Waiting::kBlocking) {
    must(stream_->send(bytes, kPatience).bytes == bytes.size(), "a send");
    return;
  }
  all_of(
      bytes.size(),
      [&](std::size_t done) { return bytes_of(stream_->try_send(bytes.subspan(done))); },
      [&] { idle(*stream_, waiting, [&] { return stream_->send_ready(); }); });
}

void StreamLink::receive(std::span<std::byte> into, Waiting waiting) {
  all_of(
      into.size(),
      [&](std::size_t done) {
        return bytes_of(waiting == Waiting::kBlocking
                            ? stream_->receive(into.subspan(done), kPatience)
                            : stream_->try_receive(into.subspan(done)));
      },
      [&] { idle(*stream_, waiting, [&] { return stream_->receive_ready(); }); });
}

SocketLink::SocketLink(bench::Channel& channel, int family) : fd_(connected(channel, family)) {}
SocketLink::~SocketLink() { close(fd_); }

void SocketLink::send(std::span<const std::byte> bytes, Waiting waiting) {
  const int flags = MSG_NOSIGNAL | (waiting == Waiting::kBusy ? MSG_DONTWAIT : 0);
  all_of(
      bytes.size(),
      [&](std::size_t done) {
        return bytes_of(::send(fd_, bytes.data() + done, bytes.size() - done, flags));
      },
      dtutils::cpu_pause);
}

void SocketLink::receive(std::span<std::byte> into, Waiting waiting) {
  const int flags = waiting == Waiting::kBusy ? MSG_DONTWAIT : 0;
  all_of(
      into.size(),
      [&](std::size_t done) {
        return bytes_of(recv(fd_, into.data() + done, into.size() - done, flags));
      },
      dtutils::cpu_pause);
}

}  // namespace streams_bench
