// SPDX-License-Identifier: MIT
// Sockets that neither a silent peer nor a signal holds.
#include "meeting.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/poll_until.hpp"

namespace streams {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLongestName = 80;
/// Between two tries to connect, or looks at a device: nothing tells when a listener begins or has
/// room, or when a byte has come.
constexpr milliseconds kRetry{1};

}  // namespace

LocalAddress local_address(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) {
    throw dtutils::Error("stream " + std::string(name), "its name is empty or too long",
                         "give it 1 to 80 bytes");
  }
  const std::string full = "cariama-streams/" + std::to_string(geteuid()) + "/" + std::string(name);
  LocalAddress address;
  address.socket.sun_family = AF_UNIX;
  std::memcpy(address.socket.sun_path + 1, full.data(), full.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + full.size());
  return address;
}

int make_local_socket() {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    throw dtutils::Error("stream", "no socket could be made",
                         "raise the limit of descriptors (ulimit -n)", errno);
  }
  return fd;
}

Meeting::~Meeting() {
  if (fd_ >= 0) close(fd_);
}

int Meeting::release() noexcept { return std::exchange(fd_, -1); }

bool Meeting::wait(short events) noexcept { return dtutils::poll_until(fd_, events, end_) > 0; }

int Meeting::connect(const LocalAddress& address) noexcept {
  const auto* const raw = reinterpret_cast<const sockaddr*>(&address.socket);
  while (::connect(fd_, raw, address.length) != 0) {
    const int code = errno;
    if (code != ECONNREFUSED && !is_transient(code)) return code;
    if (Clock::now() >= end_) return code == ECONNREFUSED ? ECONNREFUSED : ETIMEDOUT;
    if (code != EINTR) std::this_thread::sleep_for(kRetry);
  }
  return 0;
}

bool Meeting::is_user(uid_t user) const noexcept {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == user;
}

bool Meeting::pause() noexcept {
  const Clock::time_point now = Clock::now();
  return now < end_ && dtutils::poll_until(fd_, POLLRDHUP, std::min(end_, now + kRetry)) == 0;
}

bool Meeting::send_all(const void* data, std::size_t size) noexcept {
  for (std::size_t done = 0; done < size;) {
    const ssize_t sent =
        send(fd_, static_cast<const std::byte*>(data) + done, size - done, MSG_NOSIGNAL);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
    } else if (!is_transient(errno) || !wait(POLLOUT)) {
      return false;
    }
  }
  return true;
}

bool Meeting::receive_all(void* data, std::size_t size) noexcept {
  for (std::size_t done = 0; done < size;) {
    const ssize_t received = recv(fd_, static_cast<std::byte*>(data) + done, size - done, 0);
    if (received > 0) {
      done += static_cast<std::size_t>(received);
    } else if (received == 0 || !is_transient(errno) || !wait(POLLIN)) {
      return false;
    }
  }
  return true;
}

}  // namespace streams
