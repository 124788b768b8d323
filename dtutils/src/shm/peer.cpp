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
      throw Error(name_of(address), "its control segment cannot be opened through /proc/<pid>/fd",
                  "run both processes as the same user and not as setuid programs; in containers "
                  "share the PID namespace (docker: --pid) and allow ptrace (--cap-add SYS_PTRACE)",
                  code);
  }
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
    segment_ = &own.shared();
    return;
  }
  process_ = watch_process(address);
  map_segment();
  life_ = open_pipe(segment_->header.life, O_WRONLY);
  if (!life_) refuse_open(address_, errno == ENXIO ? ENOENT : errno);
  std::uint64_t magic = 0;
  can_copy_ = read_remote(&magic, segment_->header.owner_address, sizeof magic) == 0;
}

void Peer::map_segment() {
  const Descriptor file = open_descriptor(address_.fd, O_RDWR);
  if (!file) refuse_open(address_, errno);
  struct stat status {};
  const bool fits = fstat(file.get(), &status) == 0 &&
                    static_cast<std::size_t>(status.st_size) == sizeof(ControlSegment);
  if (fits) mapping_ = Mapping(file, sizeof(ControlSegment));
  if (fits && !mapping_) {
    throw Error(name_of(address_), "its control segment cannot be mapped", "raise `ulimit -v`",
                errno);
  }
  // The pid may have passed to another program since the address was sent, so look before trust.
  segment_ = reinterpret_cast<ControlSegment*>(mapping_.base());
  if (!fits || segment_->header.magic != kMagic || segment_->header.nonce != address_.nonce) {
    throw Error(name_of(address_), "the address does not name a live shm device",
                "the process that sent it has ended or closed its device; exchange endpoints anew");
  }
  if (segment_->header.version != kLayoutVersion) {
    throw Error(name_of(address_),
                fmt::format("it was built with layout {}, this process with {}",
                            segment_->header.version, kLayoutVersion),
                "use the same version of Cariama on both sides");
  }
}

bool Peer::look_whether_dead() noexcept {
  if (is_self() || dead()) return dead();
  pollfd watched[] = {{process_.get(), POLLIN, 0}, {life_.get(), 0, 0}};
  if (::poll(watched, life_ ? 2 : 1, 0) > 0) mark_dead();
  return dead();
}

void Peer::kill_process() noexcept {
  if (!is_self()) syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
}

Descriptor Peer::open_descriptor(int fd, int flags) const noexcept {
  char path[64];
  *fmt::format_to_n(path, sizeof path - 1, "/proc/{}/fd/{}", address_.pid, fd).out = '\0';
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
  const auto pid = static_cast<pid_t>(address_.pid);
  const auto move = [&](const iovec* local, const iovec* remote) {
    return process_vm_writev(pid, local, 1, remote, 1, 0);
  };
  return move_all(move, static_cast<std::byte*>(const_cast<void*>(from)), to, length);
}

int Peer::read_remote(void* to, std::uint64_t from, std::size_t length) noexcept {
  if (look_whether_dead()) return ESRCH;
  const auto pid = static_cast<pid_t>(address_.pid);
  const auto move = [&](const iovec* local, const iovec* remote) {
    return process_vm_readv(pid, local, 1, remote, 1, 0);
  };
  return move_all(move, static_cast<std::byte*>(to), from, length);
}

void Peer::prepare_to_ring(const PipeName& pipe) {
  if (is_self() || pipe.fd < 0) return;
  const std::scoped_lock lock(mutex_);
  const auto known = pipes_.find(pipe.fd);
  if (known != pipes_.end() && known->second.inode == pipe.inode) return;
  // For reading too: a pipe without a reader would raise SIGPIPE here once the peer is gone.
  Descriptor opened = open_pipe(pipe, O_RDWR);
  if (!opened) refuse_open(address_, errno);
  pipes_[pipe.fd] = {pipe.inode, std::move(opened)};
}

void Peer::ring(const PipeName& pipe, std::uint32_t message) noexcept {
  if (pipe.fd < 0) return;
  // A full pipe has a reader that is about to look anyway.
  [[maybe_unused]] ssize_t written;
  if (is_self()) {
    written = write(pipe.fd, &message, sizeof message);
    return;
  }
  const std::scoped_lock lock(mutex_);
  const auto known = pipes_.find(pipe.fd);
  if (known == pipes_.end() || known->second.inode != pipe.inode) return;
  written = write(known->second.descriptor.get(), &message, sizeof message);
}

}  // namespace dtutils::shm
