// SPDX-License-Identifier: MIT
// Creation and bookkeeping of the control segment.
#include "shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "dtutils/error.hpp"

namespace dtutils::shm {

namespace {

/// The memory file of a control segment: of full size, which nobody can change any more.
Descriptor make_file() {
  rlimit limit{};
  // The kernel kills a process that asks for a file above this limit (setrlimit(2), SIGXFSZ).
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < sizeof(ControlSegment)) {
    throw Error("shm",
                "the control segment (1.1 GB, used sparsely) is above the limit of file sizes",
                "raise it: `ulimit -f unlimited`");
  }
  Descriptor file(memfd_create("cariama-control", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) throw Error("shm", "memfd_create failed", "raise `ulimit -n`", errno);
  if (ftruncate(file.get(), sizeof(ControlSegment)) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    throw Error("shm", "the control segment's memory file cannot be given its size",
                "free some memory", errno);
  }
  return file;
}

std::uint64_t make_nonce(const void* unique) {
  std::uint64_t nonce;
  if (getrandom(&nonce, sizeof nonce, 0) == sizeof nonce) return nonce;
  return reinterpret_cast<std::uint64_t>(unique) ^ static_cast<std::uint64_t>(getpid());
}

}  // namespace

OwnSegment::OwnSegment() : file_(make_file()), mapping_(file_, sizeof(ControlSegment)) {
  if (!mapping_) {
    throw Error("shm", "the control segment (1.1 GB of address space, used sparsely) was refused",
                "raise `ulimit -v`", errno);
  }
  segment_ = reinterpret_cast<ControlSegment*>(mapping_.base());
  address_ = {static_cast<std::uint32_t>(getpid()), file_.get(), make_nonce(this)};
  Header& header = segment_->header;
  header.magic = kMagic;
  header.version = kLayoutVersion;
  header.pid = address_.pid;
  header.nonce = address_.nonce;
  header.doorbell = doorbell_.name();
  header.life = life_.name();
  header.owner_address = reinterpret_cast<std::uint64_t>(segment_);
}

IndexLease::IndexLease(OwnSegment& own, IndexPool& pool)
    : own_(own), pool_(pool), index_([&] {
        const std::scoped_lock lock(own.mutex_);
        return pool.take();
      }()) {}

IndexLease::~IndexLease() {
  const std::scoped_lock lock(own_.mutex_);
  pool_.give(index_);
}

RingLease::RingLease(OwnSegment& own, std::uint32_t slots, std::uint32_t slot_size) : own_(own) {
  place_.shift = static_cast<std::uint32_t>(std::bit_width(std::bit_ceil(slots)) - 1);
  place_.slot_size = slot_size;
  {
    const std::scoped_lock lock(own.mutex_);
    const auto offset = own.arena_.take(bytes());
    if (!offset) {
      throw Error("shm", "no room for another ring in the control segment",
                  "use fewer or shallower queues", ENOMEM);
    }
    place_.offset = *offset;
  }
  std::memset(own.shared().arena + place_.offset, 0, bytes());
}

RingLease::~RingLease() {
  const std::scoped_lock lock(own_.mutex_);
  own_.arena_.give(place_.offset, bytes());
}

std::uint64_t RingLease::bytes() const noexcept {
  return (place_.capacity() * place_.slot_size + kCacheLine - 1) & ~std::uint64_t{kCacheLine - 1};
}

}  // namespace dtutils::shm
