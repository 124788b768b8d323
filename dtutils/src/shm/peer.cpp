// SPDX-License-Identifier: MIT
// Reaching into a peer: through /proc/<pid>/fd for memory files and pipes, pidfd for its death.
#include "shm/peer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>
#include <string>

#include "dtutils/error.hpp"
#include "shm/handover.hpp"
#include "shm/layout_digest.hpp"
#include "shm/segment.hpp"

namespace dtutils::shm {
namespace {

std::string name_of(const Address& address) {
  return fmt::format("shm peer, process {}", address.pid);
}

[[noreturn]] void refuse_open(const Address& address, int code) {
  switch (code) {
    case ENOENT:
    case ESRCH:
      throw Error(name_of(address), "it has ended, or its device is closed",
                  "start it again and exchange endpoints anew", code);
    case EMFILE:
    case ENFILE:
      throw Error(name_of(address), "this process has too many open files to reach it",
                  "raise `ulimit -n`", code);
    default:
      throw Error(name_of(address),
                  "its pipes cannot be opened through /proc/<pid>/task/<thread>/fd",
                  "run both processes as the same user and not as setuid programs; in containers "
                  "share the PID namespace (docker: --pid) and allow ptrace (--cap-add SYS_PTRACE)",
                  code);
  }
}

[[noreturn]] void refuse_stranger(const Address& address) {
  throw Error(name_of(address), "the address does not name a live shm device",
              "the process that sent it has ended or closed its device; exchange endpoints anew");
}

Descriptor watch_process(const Address& address) {
  Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, address.pid, 0)));
  if (process) return process;
  if (errno != ENOSYS) refuse_open(address, errno);
  throw Error(name_of(address), "its end cannot be watched (pidfd_open)",
              "use a kernel of 5.3 or later", ENOSYS);
}

/// process_vm_readv or process_vm_writev until all is moved: one call moves at most 2 GB.
template <class Move>
int move_all(Move move, std::byte* here, std::uint64_t there, std::size_t length) noexcept {
  while (length != 0) {
    const iovec local{here, length};
    const iovec remote{reinterpret_cast<void*>(there), length};
    const ssize_t moved = move(&local, &remote);
    if (moved <= 0) return moved < 0 ? errno : EFAULT;
    here += moved;
    there += static_cast<std::uint64_t>(moved);
    length -= static_cast<std::size_t>(moved);
  }
  return 0;
}

}  // namespace

Peer::Peer(const Address& address, OwnSegment& own) : address_(address) {
  if (address == own.address()) {
    self_ = &own;
    map_ = &own.map();
    doorbell_ = bell(own.doorbell().name());
    return;
  }
  process_ = watch_process(address);
  own_map_.emplace([this] { return open_segment(); });
  map_ = &*own_map_;
  look_at_header();
  std::uint64_t magic = 0;
  can_copy_ = read_remote(&magic, read_once(shared().header.owner_address), sizeof magic) == 0;
}

Descriptor Peer::open_segment() const {
  Descriptor file = knock(address_);
  struct stat status {};
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(file.get(), &status) != 0 ||
      static_cast<std::size_t>(status.st_size) != sizeof(ControlSegment)) {
    refuse_stranger(address_);
  }
  return file;
}

void Peer::look_at_header() {
  const Header& header = shared().header;
  if (read_once(header.magic) != kMagic) refuse_stranger(address_);
  if (read_once(header.layout) != layout_digest()) {
    throw Error(name_of(address_),
                "it was built with another layout of the control segment than this process",
                "use the same version of Cariama, built by the same compiler, on both sides");
  }
  if (read_once(header.nonce) != address_.nonce) refuse_stranger(address_);
  thread_ = read_once(header.thread);
  const auto copy = [](const PipeName& pipe) {
    return PipeName{read_once(pipe.fd), read_once(pipe.inode)};
  };
  life_ = open_pipe(copy(header.life), O_WRONLY);
  if (!life_) refuse_open(address_, errno == ENXIO ? ENOENT : errno);
  doorbell_ = bell(copy(header.doorbell));
}

bool Peer::look_whether_dead() noexcept {
  if (is_self() || dead()) return dead();
  pollfd watched[] = {{process_.get(), POLLIN, 0}, {life_.get(), 0, 0}};
  if (::poll(watched, life_ ? 2 : 1, 0) > 0) mark_dead();
  return dead();
}

void Peer::kill_process() noexcept {
  // Another device of this process is a peer, too.
  if (address_.pid == static_cast<std::uint32_t>(getpid())) return;
  syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
}

Descriptor Peer::open_descriptor(int fd, int flags) const noexcept {
  char path[64];
  *fmt::format_to_n(path, sizeof path - 1, "/proc/{}/task/{}/fd/{}", address_.pid, thread_, fd)
       .out = '\0';
  return Descriptor(open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

Descriptor Peer::open_pipe(const PipeName& pipe, int flags) const noexcept {
  Descriptor opened = open_descriptor(pipe.fd, flags);
  struct stat status {};
  if (!opened) return opened;
  if (fstat(opened.get(), &status) != 0 || !S_ISFIFO(status.st_mode) ||
      static_cast<std::uint32_t>(status.st_ino) != pipe.inode) {
    errno = ENOENT;
    return Descriptor();
  }
  return opened;
}

int Peer::write_remote(std::uint64_t to, const void* from, std::size_t length) noexcept {
  if (look_whether_dead()) return ESRCH;
  const auto pid = static_cast<pid_t>(thread_);
  const auto move = [&](const iovec* local, const iovec* remote) {
    return process_vm_writev(pid, local, 1, remote, 1, 0);
  };
  return move_all(move, static_cast<std::byte*>(const_cast<void*>(from)), to, length);
}

int Peer::read_remote(void* to, std::uint64_t from, std::size_t length) noexcept {
  if (look_whether_dead()) return ESRCH;
  const auto pid = static_cast<pid_t>(thread_);
  const auto move = [&](const iovec* local, const iovec* remote) {
    return process_vm_readv(pid, local, 1, remote, 1, 0);
  };
  return move_all(move, static_cast<std::byte*>(to), from, length);
}

Bell Peer::bell(const PipeName& pipe) {
  if (is_self() || pipe.fd < 0) return Bell(pipe.fd);
  const std::scoped_lock lock(mutex_);
  OpenPipe& known = pipes_[pipe.fd];
  std::shared_ptr<const Descriptor> opened = known.descriptor.lock();
  if (opened == nullptr || known.inode != pipe.inode) {
    // For reading too: a pipe without a reader would raise SIGPIPE here once the peer is gone.
    Descriptor fresh = open_pipe(pipe, O_RDWR);
    if (!fresh) refuse_open(address_, errno);
    opened = std::make_shared<const Descriptor>(std::move(fresh));
    known = {pipe.inode, opened};
  }
  return Bell(std::move(opened));
}

}  // namespace dtutils::shm
