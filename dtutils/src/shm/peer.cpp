// SPDX-License-Identifier: MIT
// Reaching into a peer: through /proc/<pid>/fd for memory files and pipes, pidfd for its death.
#include "shm/peer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
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
  if (code == ENOENT || code == ESRCH) {
    throw Error(name_of(address), "it has ended, or its control segment is closed",
                "start it again and exchange endpoints anew", code);
  }
  throw Error(name_of(address), "its control segment cannot be opened through /proc/<pid>/fd",
              "run both processes as the same user and not as setuid programs; in containers share "
              "the PID namespace (docker: --pid) and allow ptrace (--cap-add SYS_PTRACE)",
              code);
}

}  // namespace

Peer::Peer(const Address& address, OwnSegment& own) : address_(address) {
  cache_ = std::make_unique<std::atomic<const Translation*>[]>(kMaxRegions);
  if (address == own.address()) {
    segment_ = &own.shared();
    return;
  }
  const int fd = open_descriptor(address.fd, O_RDWR);
  if (fd < 0) refuse_open(address, errno);
  struct stat status {};
  const bool fits =
      fstat(fd, &status) == 0 && static_cast<std::size_t>(status.st_size) == sizeof(ControlSegment);
  void* base = fits ? mmap(nullptr, sizeof(ControlSegment), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_NORESERVE, fd, 0)
                    : MAP_FAILED;
  const int code = errno;
  close(fd);
  if (fits && base == MAP_FAILED) {
    throw Error(name_of(address), "its control segment cannot be mapped", "raise `ulimit -v`",
                code);
  }
  // The pid may have passed to another program since the address was sent, so look before trust.
  segment_ = fits ? static_cast<ControlSegment*>(base) : nullptr;
  if (!fits || segment_->header.magic != kMagic || segment_->header.nonce != address.nonce) {
    if (fits) munmap(base, sizeof(ControlSegment));
    throw Error(name_of(address), "the address does not name a live shm device",
                "the process that sent it has ended or closed its device; exchange endpoints anew");
  }
  if (segment_->header.version != kLayoutVersion) {
    const std::uint32_t version = segment_->header.version;
    munmap(base, sizeof(ControlSegment));
    throw Error(
        name_of(address),
        fmt::format("it was built with layout {}, this process with {}", version, kLayoutVersion),
        "use the same version of Cariama on both sides");
  }
  pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, address.pid, 0));
  if (pid_fd_ < 0) {
    const int open_code = errno;
    munmap(base, sizeof(ControlSegment));
    throw Error(
        name_of(address), "its end cannot be watched (pidfd_open)",
        open_code == ESRCH ? "it has ended; start it again" : "use a kernel of 5.3 or later",
        open_code);
  }
  std::uint64_t magic = 0;
  can_copy_ = read_remote(&magic, segment_->header.owner_address, sizeof magic) == 0;
}

Peer::~Peer() {
  for (const auto& [key, mapping] : mappings_) munmap(mapping.base, mapping.size);
  for (const auto& [remote, fd] : pipes_) close(fd);
  if (pid_fd_ >= 0) {
    munmap(segment_, sizeof(ControlSegment));
    close(pid_fd_);
  }
}

int Peer::open_descriptor(int fd, int flags) const noexcept {
  char path[64];
  *fmt::format_to_n(path, sizeof path - 1, "/proc/{}/fd/{}", address_.pid, fd).out = '\0';
  return open(path, flags | O_CLOEXEC);
}

std::byte* Peer::map_segment(int fd, std::uint64_t inode, std::uint64_t size) noexcept {
  const auto known = mappings_.find({inode, fd});
  if (known != mappings_.end()) return known->second.base;
  const int file = open_descriptor(fd, O_RDWR);
  if (file < 0) return nullptr;
  struct stat status {};
  void* base = MAP_FAILED;
  if (fstat(file, &status) == 0 && status.st_ino == inode) {
    base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  }
  close(file);
  if (base == MAP_FAILED) return nullptr;
  mappings_[{inode, fd}] = {static_cast<std::byte*>(base), size};
  return static_cast<std::byte*>(base);
}

const Translation* Peer::translate_slowly(std::uint32_t rkey) noexcept try {
  const RegionEntry& entry = segment_->regions[region_index(rkey)];
  const std::scoped_lock lock(mutex_);
  if (entry.key.load(std::memory_order_acquire) != rkey || rkey == 0) return nullptr;
  auto made = std::make_unique<Translation>();
  *made = {rkey, entry.access, entry.pd, entry.address, entry.length, nullptr, &entry};
  if (is_self()) {
    made->local = reinterpret_cast<std::byte*>(entry.address);
  } else if (entry.fd >= 0) {
    std::byte* base = map_segment(entry.fd, entry.inode, entry.segment_size);
    if (base == nullptr) return nullptr;
    made->local = base + entry.segment_offset;
  }
  // The fields belong to the key only if it is still there.
  if (entry.key.load(std::memory_order_acquire) != rkey) return nullptr;
  const Translation* result = made.get();
  translations_.push_back(std::move(made));
  cache_[region_index(rkey)].store(result, std::memory_order_release);
  return result;
} catch (const std::bad_alloc&) {
  return nullptr;
}

int Peer::write_remote(std::uint64_t to, const void* from, std::size_t length) noexcept {
  const iovec local{const_cast<void*>(from), length};
  const iovec remote{reinterpret_cast<void*>(to), length};
  const ssize_t done =
      process_vm_writev(static_cast<pid_t>(address_.pid), &local, 1, &remote, 1, 0);
  return done == static_cast<ssize_t>(length) ? 0 : (done < 0 ? errno : EFAULT);
}

int Peer::read_remote(void* to, std::uint64_t from, std::size_t length) noexcept {
  const iovec local{to, length};
  const iovec remote{reinterpret_cast<void*>(from), length};
  const ssize_t done = process_vm_readv(static_cast<pid_t>(address_.pid), &local, 1, &remote, 1, 0);
  return done == static_cast<ssize_t>(length) ? 0 : (done < 0 ? errno : EFAULT);
}

void Peer::ring(const PipeName& pipe, std::uint32_t message) noexcept {
  if (pipe.fd < 0) return;
  int fd = pipe.fd;
  if (!is_self()) {
    const std::scoped_lock lock(mutex_);
    const auto known = pipes_.find({pipe.fd, pipe.id});
    if (known != pipes_.end()) {
      fd = known->second;
    } else {
      // For reading too: a pipe without a reader would raise SIGPIPE here once the peer is gone.
      fd = open_descriptor(pipe.fd, O_RDWR | O_NONBLOCK);
      if (fd < 0) return;  // the peer is gone, which the agent reports
      try {
        pipes_[{pipe.fd, pipe.id}] = fd;
      } catch (const std::bad_alloc&) {
        close(fd);
        return;
      }
    }
  }
  // A full pipe has a reader that is about to look anyway.
  [[maybe_unused]] const ssize_t written = write(fd, &message, sizeof message);
}

}  // namespace dtutils::shm
