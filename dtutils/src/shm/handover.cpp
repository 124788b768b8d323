// SPDX-License-Identifier: MIT
// Descriptors in messages of local sockets: parking one, handing it over, asking for it.
#include "shm/handover.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "dtutils/clock.hpp"
#include "dtutils/error.hpp"
#include "shm/layout_digest.hpp"
#include "shm/service_thread.hpp"

namespace dtutils::shm {
namespace {

/// What a visitor says, and what it hears.
struct Request {
  std::uint64_t magic;
  std::uint64_t key;
  std::uint64_t layout;
};
struct Answer {
  std::uint64_t magic;
  std::uint64_t layout;
};

constexpr int kVisitorMilliseconds = 200;

/// A message and the descriptor that travels with it.
struct Parcel {
  Parcel(void* data, std::size_t size) : bytes{data, size} {
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  void put(int fd) {
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  Descriptor take() {
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    int fd = -1;
    if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof fd)) {
      std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    }
    return Descriptor(fd);
  }

  iovec bytes;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
};

struct Name {
  Name(pid_t pid, std::uint32_t door) {
    address.sun_family = AF_UNIX;
    // The first byte stays 0: abstract.
    char* const end = fmt::format_to_n(address.sun_path + 1, sizeof address.sun_path - 1,
                                       "cariama-{}-{}", pid, door)
                          .out;
    length = static_cast<socklen_t>(end - reinterpret_cast<char*>(&address));
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t length = 0;
};

Descriptor local_socket() {
  Descriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!made) throw Error("shm", "a local socket cannot be made", "raise `ulimit -n`", errno);
  return made;
}

/// Repeats what a stop of this process has interrupted: waits of sockets with a limit then end with
/// EINTR, without any handler (signal(7)).
template <class Call>
ssize_t uninterrupted(Call call) {
  ssize_t result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

void limit_waiting(const Descriptor& socket, int limit_ms) {
  const timeval limit{limit_ms / 1000, limit_ms % 1000 * 1000};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

std::optional<ucred> credentials(const Descriptor& socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer;
}

/// A copy of the descriptor that lies in the queue, or none.
Descriptor look_into(const Descriptor& queue) {
  char nothing = 0;
  Parcel parcel(&nothing, sizeof nothing);
  const ssize_t size =
      recvmsg(queue.get(), &parcel.message, MSG_PEEK | MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  return size < 0 ? Descriptor() : parcel.take();
}

/// The parked file of a process that may be debugged by this one (ptrace(2)), or none. Whether it
/// is the right file, its header tells.
Descriptor take_parked(const Address& address) {
  const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, address.pid, 0)));
  const Descriptor queue(
      static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), address.door, 0)));
  return look_into(queue);
}

[[noreturn]] void refuse(const Address& address, const char* happened, const char* remedy,
                         int code = 0) {
  throw Error(fmt::format("shm peer, process {}", address.pid), happened, remedy, code);
}

[[noreturn]] void refuse_connection(const Address& address, int code) {
  if (code == EAGAIN) {
    refuse(address, "it does not answer", "check whether it is stopped (ps: state T)", ETIMEDOUT);
  }
  if (kill(static_cast<pid_t>(address.pid), 0) != 0 && errno == ESRCH) {
    refuse(address, "it has ended", "start it again and exchange endpoints anew", ESRCH);
  }
  refuse(address, "its device is closed, or it has another network namespace",
         "exchange endpoints anew; in containers share the network namespace (docker: --network), "
         "or allow SYS_PTRACE",
         code);
}

}  // namespace

ParkedFile::ParkedFile(Descriptor file) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error("shm", "a local socket cannot be made", "raise `ulimit -n`", errno);
  }
  const Descriptor sender(ends[0]);
  queue_ = Descriptor(ends[1]);
  char nothing = 0;
  Parcel parcel(&nothing, sizeof nothing);
  parcel.put(file.get());
  // Against those who look at the right moment: the file cannot be opened by its name at all.
  fchmod(file.get(), 0);
  if (sendmsg(sender.get(), &parcel.message, MSG_NOSIGNAL) < 0) {
    throw Error("shm", "the control segment cannot be put aside",
                "raise `ulimit -n`, which limits the descriptors under way of all processes of "
                "this user, too",
                errno);
  }
}

Descriptor ParkedFile::open() const {
  Descriptor file = look_into(queue_);
  if (!file) {
    throw Error("shm", "no descriptor is left for the control segment", "raise `ulimit -n`",
                EMFILE);
  }
  return file;
}

Door::Door(std::uint64_t key, const ParkedFile& file)
    : key_(key), file_(file), listener_(local_socket()) {
  const Name name(getpid(), number());
  if (bind(listener_.get(), name.get(), name.length) != 0) {
    throw Error("shm", "a local socket cannot have its name", "free memory", errno);
  }
  if (listen(listener_.get(), SOMAXCONN) != 0) {
    throw Error("shm", "a local socket cannot listen", "free memory", errno);
  }
  thread_ = start_service_thread([this] { serve(); });
  thread_id_.wait(0);
}

Door::~Door() {
  if (thread_ == nullptr) return;
  // Ends the accept(2) of the thread.
  shutdown(listener_.get(), SHUT_RDWR);
  thread_->join();
}

void Door::abandon_in_child() noexcept {
  // Not joined, not detached: the thread that it names exists in the parent only.
  [[maybe_unused]] const std::thread* left_behind = thread_.release();
  listener_ = Descriptor();
}

void Door::serve() {
  thread_id_.store(gettid());
  thread_id_.notify_all();
  for (;;) {
    const Descriptor visitor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (visitor) {
      answer(visitor);
    } else if (errno == EINVAL) {
      return;
    } else if (errno == EMFILE || errno == ENFILE) {
      // Until a descriptor is free; the visitor waits meanwhile.
      poll(nullptr, 0, kVisitorMilliseconds);
    }
  }
}

void Door::answer(const Descriptor& visitor) const try {
  const auto peer = credentials(visitor);
  if (!peer || peer->uid != geteuid()) return;
  limit_waiting(visitor, kVisitorMilliseconds);
  Request request{};
  const ssize_t size =
      uninterrupted([&] { return recv(visitor.get(), &request, sizeof request, 0); });
  if (size != sizeof request || request.magic != kMagic || request.key != key_) {
    return;
  }
  Answer answer{kMagic, layout_digest()};
  Parcel parcel(&answer, sizeof answer);
  Descriptor file;
  if (request.layout == answer.layout) {
    file = file_.open();
    parcel.put(file.get());
  } else {
    parcel.message.msg_controllen = 0;
  }
  uninterrupted([&] { return sendmsg(visitor.get(), &parcel.message, MSG_NOSIGNAL); });
} catch (const Error&) {
  // No descriptor is left. The visitor hears nothing, and says so.
}

namespace {

/// The door was open, but its owner does not wait long for what a visitor wants: on a machine with
/// far more processes than cores, a visitor may come too late.
bool turned_away(int code) noexcept { return code == EPIPE || code == ECONNRESET; }

/// Knocks once, and waits no longer than `limit`. Empty: it was turned away, or interrupted.
Descriptor knock_once(const Address& address, std::chrono::milliseconds limit) {
  const Descriptor door = local_socket();
  limit_waiting(door, static_cast<int>(limit.count()));
  const Name name(static_cast<pid_t>(address.pid), address.door);
  if (connect(door.get(), name.get(), name.length) != 0) {
    const int code = errno;
    // This process was stopped meanwhile.
    if (code == EINTR) return Descriptor();
    if (Descriptor file = code == ECONNREFUSED ? take_parked(address) : Descriptor()) return file;
    refuse_connection(address, code);
  }
  const auto owner = credentials(door);
  if (!owner || owner->uid != geteuid()) {
    refuse(address, "it belongs to another user", "run both processes as the same user", EACCES);
  }
  Request request{kMagic, address.nonce, layout_digest()};
  Answer answer{};
  Parcel parcel(&answer, sizeof answer);
  const ssize_t sent =
      uninterrupted([&] { return send(door.get(), &request, sizeof request, MSG_NOSIGNAL); });
  if (sent != sizeof request) {
    if (turned_away(errno)) return Descriptor();
    refuse_connection(address, errno);
  }
  const ssize_t size =
      uninterrupted([&] { return recvmsg(door.get(), &parcel.message, MSG_CMSG_CLOEXEC); });
  if (size < 0 && turned_away(errno)) return Descriptor();
  if (size < 0) refuse_connection(address, errno);
  if (size != sizeof answer || answer.magic != kMagic ||
      owner->pid != static_cast<pid_t>(address.pid)) {
    refuse(address, "the address does not name a live shm device",
           "the process that sent it has ended or closed its device; exchange endpoints anew");
  }
  if (answer.layout != request.layout) {
    refuse(address, "it was built with another layout of the control segment than this process",
           "use the same version of Cariama, built by the same compiler, on both sides");
  }
  Descriptor file = parcel.take();
  if (!file) {
    refuse(address, "this process has too many open files to reach it", "raise `ulimit -n`",
           EMFILE);
  }
  return file;
}

}  // namespace

Descriptor knock(const Address& address) {
  const Clock::time_point by = Clock::now() + std::chrono::seconds(kDoorSeconds);
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(by - Clock::now());
    if (left.count() <= 0) refuse_connection(address, ECONNRESET);
    if (Descriptor file = knock_once(address, left)) return file;
  }
}

}  // namespace dtutils::shm
