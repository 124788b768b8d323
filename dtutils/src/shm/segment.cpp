// SPDX-License-Identifier: MIT
// Creation and bookkeeping of the control segment.
#include "shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "dtutils/error.hpp"
#include "shm/layout_digest.hpp"

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

OwnSegment::OwnSegment()
    : nonce_(make_nonce(this)),
      file_(make_file()),
      map_([this] { return file_.open(); }),
      door_(nonce_, file_),
      address_{static_cast<std::uint32_t>(getpid()), door_.number(), nonce_} {
  Header& header = shared().header;
  header.magic = kMagic;
  header.layout = layout_digest();
  header.nonce = address_.nonce;
  header.pid = address_.pid;
  header.thread = static_cast<std::uint32_t>(door_.thread());
  header.doorbell = doorbell_.name();
  header.life = life_.name();
  header.owner_address = reinterpret_cast<std::uint64_t>(&shared());
}

void OwnSegment::add_region(std::uint32_t rkey, const OwnRegion& region) {
  const std::scoped_lock lock(mutex_);
  known_regions_.emplace(rkey, region);
}

void OwnSegment::remove_region(std::uint32_t rkey) noexcept {
  const std::scoped_lock lock(mutex_);
  known_regions_.erase(rkey);
}

std::optional<OwnRegion> OwnSegment::region(std::uint32_t rkey) {
  const std::scoped_lock lock(mutex_);
  const auto known = known_regions_.find(rkey);
  if (known == known_regions_.end()) return std::nullopt;
  return known->second;
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
  std::uint64_t fresh_from = 0;
  {
    const std::scoped_lock lock(own.mutex_);
    fresh_from = own.arena_.fresh_from();
    const auto offset = own.arena_.take(bytes());
    if (!offset) {
      throw Error("shm", "no room for another ring in the control segment",
                  "use fewer or shallower queues", ENOMEM);
    }
    place_.offset = *offset;
  }
  try {
    own.map().map_arena(place_.offset, bytes());
  } catch (...) {
    give_back();
    throw;
  }
  // The rest is zero, as the file began, and gets its pages when it is used.
  if (fresh_from > place_.offset) {
    std::memset(own.shared().arena + place_.offset, 0,
                std::min(bytes(), fresh_from - place_.offset));
  }
}

RingLease::~RingLease() { give_back(); }

void RingLease::give_back() noexcept {
  const std::scoped_lock lock(own_.mutex_);
  own_.arena_.give(place_.offset, bytes());
}

std::uint64_t RingLease::bytes() const noexcept {
  return (place_.capacity() * place_.slot_size + kCacheLine - 1) & ~std::uint64_t{kCacheLine - 1};
}

}  // namespace dtutils::shm
