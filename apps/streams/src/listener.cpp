// SPDX-License-Identifier: MIT
// How the two sides of a stream meet: over a Unix-domain socket, as processes of one user.
#include "streams/listener.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>

#include "dtutils/error.hpp"
#include "introduction.hpp"

namespace streams {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kLongestName = 80;
constexpr int kBacklog = 128;
/// Says that the side that connects is ready too.
constexpr char kReady = 'r';

struct Address {
  sockaddr_un socket{};
  socklen_t length;
};

Address address_of(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) {
    throw dtutils::Error("stream " + std::string(name), "its name is empty or too long",
                         "give it 1 to 80 bytes");
  }
  const std::string full = "cariama-streams/" + std::to_string(geteuid()) + "/" + std::string(name);
  Address address;
  address.socket.sun_family = AF_UNIX;
  std::memcpy(address.socket.sun_path + 1, full.data(), full.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + full.size());
  return address;
}

/// A socket until somebody takes it.
class Socket {
 public:
  explicit Socket(int fd) noexcept : fd_(fd) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

int make_socket() {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    throw dtutils::Error("stream", "no socket could be made",
                         "raise the limit of descriptors (ulimit -n)", errno);
  }
  return fd;
}

/// Sends and receives on `fd` end after `timeout`.
void limit_time(int fd, milliseconds timeout) {
  const timeval limit{timeout.count() / 1000, timeout.count() % 1000 * 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool same_user(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

template <class T>
bool tell(int fd, const T& value) {
  return ::send(fd, &value, sizeof value, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof value);
}

template <class T>
bool hear(int fd, T& value) {
  return recv(fd, &value, sizeof value, MSG_TRUNC) == static_cast<ssize_t>(sizeof value);
}

bool valid(const Introduction& peer) {
  return peer.magic == kMagic && peer.version == kVersion && peer.ring == kRing;
}

}  // namespace

Listener::Listener(dtutils::ProtectionDomain& domain, std::string_view name)
    : domain_(domain), name_(name), socket_(-1) {
  const Address address = address_of(name);
  Socket socket(make_socket());
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.socket), address.length) != 0 ||
      listen(socket.get(), kBacklog) != 0) {
    throw dtutils::Error("listener " + name_, "nobody can listen under this name",
                         "choose another name, or end the process that has it", errno);
  }
  socket_ = socket.release();
}

Listener::~Listener() { close(socket_); }

std::unique_ptr<Stream> Listener::accept(milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
    pollfd entry{socket_, POLLIN, 0};
    const int found = ::poll(&entry, 1, static_cast<int>(std::max(left, milliseconds(0)).count()));
    if (found > 0) {
      const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection >= 0) {
        if (auto stream = introduce(connection)) return stream;
      } else if (errno == EMFILE || errno == ENFILE) {
        throw dtutils::Error("listener " + name_, "there is no descriptor for another stream",
                             "raise the limit of descriptors (ulimit -n)", errno);
      }
    }
    if (Clock::now() >= end) return nullptr;
  }
}

std::unique_ptr<Stream> Listener::introduce(int connection) {
  Socket socket(connection);
  limit_time(connection, kIntroduction);
  Introduction peer;
  if (!same_user(connection) || !hear(connection, peer) || !valid(peer)) return nullptr;
  std::unique_ptr<Stream> stream(new Stream(domain_));
  try {
    stream->meet(peer);
  } catch (const dtutils::Error&) {
    return nullptr;  // The peer left, or named a queue pair that does not exist.
  }
  char ready;
  if (!tell(connection, stream->introduction()) || !hear(connection, ready)) return nullptr;
  stream->keep(socket.release());
  return stream;
}

std::unique_ptr<Stream> connect(dtutils::ProtectionDomain& domain, std::string_view name,
                                milliseconds timeout) {
  const std::string object = "stream " + std::string(name);
  const Address address = address_of(name);
  const Clock::time_point end = Clock::now() + timeout;
  Socket socket(make_socket());
  const int fd = socket.get();
  limit_time(fd, std::max(timeout, milliseconds(1)));
  while (::connect(fd, reinterpret_cast<const sockaddr*>(&address.socket), address.length) != 0) {
    if (errno != ECONNREFUSED || Clock::now() >= end) {
      throw dtutils::Error(object, "nobody listens under this name",
                           "start the program that does, as the same user", errno);
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  if (!same_user(fd)) {
    throw dtutils::Error(object, "the listener belongs to another user",
                         "run both programs as the same user");
  }
  std::unique_ptr<Stream> stream(new Stream(domain));
  Introduction peer;
  if (!tell(fd, stream->introduction()) || !hear(fd, peer) || !valid(peer)) {
    throw dtutils::Error(object, "the listener did not accept",
                         "see that it calls accept, and that it has the same version");
  }
  stream->meet(peer);
  if (!tell(fd, kReady)) {
    throw dtutils::Error(object, "the listener left while it accepted", "connect again");
  }
  stream->keep(socket.release());
  return stream;
}

}  // namespace streams
