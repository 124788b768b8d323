// SPDX-License-Identifier: MIT
// Asking the door of a peer for its memory file.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "dtutils/clock.hpp"
#include "dtutils/error.hpp"
#include "shm/handover.hpp"
#include "shm/layout_digest.hpp"
#include "shm/local_message.hpp"

namespace dtutils::shm {
namespace {

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

/// The door was open, but its owner does not wait long for what a visitor wants: on a machine with
/// far more processes than cores, a visitor may come too late.
bool turned_away(int code) noexcept { return code == EPIPE || code == ECONNRESET; }

/// Knocks once, and waits no longer than `limit`. Empty: it was turned away, or interrupted.
Descriptor knock_once(const Address& address, std::chrono::milliseconds limit) {
  const Descriptor door = local_socket();
  limit_waiting(door, static_cast<int>(limit.count()));
  const DoorName name(static_cast<pid_t>(address.pid), address.door);
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
  DoorRequest request{kMagic, address.nonce, layout_digest()};
  DoorAnswer answer{};
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
