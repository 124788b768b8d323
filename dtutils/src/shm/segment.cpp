// SPDX-License-Identifier: MIT
// Creation and bookkeeping of the control segment.
#include "shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "dtutils/error.hpp"

namespace dtutils::shm {

std::uint32_t IndexPool::take(const char* what) {
  // Fresh indices first: a used one rests until all others have been used.
  if (used_ < bound_) return used_++;
  if (free_.empty()) {
    throw Error("shm", std::string("all ") + std::to_string(bound_) + " " + what + " are in use",
                "destroy some, or share them", ENOMEM);
  }
  const std::uint32_t index = free_.front();
  free_.pop_front();
  return index;
}

OwnSegment::OwnSegment() {
  fd_ = memfd_create("cariama-control", MFD_CLOEXEC);
  if (fd_ < 0) throw Error("shm", "memfd_create failed", "raise `ulimit -n`", errno);
  if (pipe2(doorbell_, O_CLOEXEC | O_NONBLOCK) != 0) {
    const int code = errno;
    close(fd_);
    throw Error("shm", "pipe2 failed", "raise `ulimit -n`", code);
  }
  void* base = MAP_FAILED;
  if (ftruncate(fd_, sizeof(ControlSegment)) == 0) {
    base = mmap(nullptr, sizeof(ControlSegment), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                fd_, 0);
  }
  if (base == MAP_FAILED) {
    const int code = errno;
    close(fd_);
    close(doorbell_[0]);
    close(doorbell_[1]);
    throw Error("shm", "the control segment (1.1 GB of address space, used sparsely) was refused",
                "raise `ulimit -v` and `ulimit -f`", code);
  }
  segment_ = static_cast<ControlSegment*>(base);
  address_.pid = static_cast<std::uint32_t>(getpid());
  address_.fd = fd_;
  if (getrandom(&address_.nonce, sizeof address_.nonce, 0) != sizeof address_.nonce) {
    address_.nonce = reinterpret_cast<std::uint64_t>(this) ^ static_cast<std::uint64_t>(getpid());
  }
  Header& header = segment_->header;
  header.magic = kMagic;
  header.version = kLayoutVersion;
  header.pid = address_.pid;
  header.nonce = address_.nonce;
  header.doorbell = {doorbell_[1], 0};
  header.owner_address = reinterpret_cast<std::uint64_t>(segment_);
}

OwnSegment::~OwnSegment() {
  munmap(segment_, sizeof(ControlSegment));
  close(fd_);
  close(doorbell_[0]);
  close(doorbell_[1]);
}

RingPlace OwnSegment::allocate_ring(std::uint32_t slots, std::uint32_t slot_size) {
  RingPlace ring{};
  ring.shift = static_cast<std::uint32_t>(std::bit_width(std::bit_ceil(slots)) - 1);
  ring.slot_size = slot_size;
  const std::uint64_t bytes =
      (ring.capacity() * slot_size + kCacheLine - 1) & ~std::uint64_t{kCacheLine - 1};
  const std::scoped_lock lock(mutex_);
  auto& free = free_rings_[bytes];
  if (!free.empty()) {
    ring.offset = free.back();
    free.pop_back();
  } else {
    if (bytes > kArenaSize - arena_used_) {
      throw Error("shm", "no room for another ring in the control segment",
                  "use fewer or shallower queues", ENOMEM);
    }
    ring.offset = arena_used_;
    arena_used_ += bytes;
  }
  std::memset(segment_->arena + ring.offset, 0, bytes);
  return ring;
}

void OwnSegment::free_ring(const RingPlace& ring) {
  const std::uint64_t bytes =
      (ring.capacity() * ring.slot_size + kCacheLine - 1) & ~std::uint64_t{kCacheLine - 1};
  const std::scoped_lock lock(mutex_);
  free_rings_[bytes].push_back(ring.offset);
}

std::uint32_t OwnSegment::locked_take(IndexPool& pool, const char* what) {
  const std::scoped_lock lock(mutex_);
  return pool.take(what);
}

void OwnSegment::locked_give(IndexPool& pool, std::uint32_t index) {
  const std::scoped_lock lock(mutex_);
  pool.give(index);
}

}  // namespace dtutils::shm
