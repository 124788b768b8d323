// SPDX-License-Identifier: MIT
// HostCache: the leader's memory, mapped by its host, and filling entries of it.
#include "host_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "dtutils/error.hpp"
#include "dtutils/shared_segment.hpp"

namespace sharing::detail {
namespace {

/// The first process of the machine of that process.
std::uint16_t first_of_host(const dsfabric::Fabric& fabric, std::uint16_t process) {
  std::uint16_t leader = 0;
  while (fabric.info({leader}).machine != fabric.info({process}).machine) ++leader;
  return leader;
}

}  // namespace

HostCache::HostCache(dsfabric::Fabric& fabric, const SpaceOptions& options)
    : fabric_(fabric),
      options_(options),
      cached_(std::bit_ceil(std::max(1u, options.cached))),
      entry_bytes_(sizeof(Head) + (std::uint64_t{options.cached_bytes} + 63) / 64 * 64) {
  if (first_of_host(fabric, fabric.process().value) != fabric.process().value) return;
  memory_ = fabric.general_allocator().allocate(bytes());
  std::memset(memory_.data(), 0, memory_.size());
  use(memory_.data());
}

void HostCache::use(std::byte* cache) noexcept {
  words_ = reinterpret_cast<Pushed*>(cache);
  entries_ = cache + words_bytes();
}

HostCache::~HostCache() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
}

Hello HostCache::hello() const {
  Hello hello;
  hello.bytes = options_.bytes;
  hello.data = options_.data;
  hello.cached = options_.cached;
  hello.cached_bytes = options_.cached_bytes;
  if (!memory_) return hello;
  hello.address = reinterpret_cast<std::uint64_t>(memory_.data());
  hello.rkey = memory_.rkey();
  if (const auto found = dtutils::SharedSegment::find(memory_.data(), memory_.size())) {
    hello.fd = found->fd;
    hello.inode = found->inode;
    hello.offset = found->offset;
    hello.segment_bytes = found->segment_size;
  }
  return hello;
}

void HostCache::connect(const std::vector<Hello>& all) {
  const std::uint16_t leader = first_of_host(fabric_, fabric_.process().value);
  for (std::uint16_t process = 0; process < all.size(); ++process) {
    if (first_of_host(fabric_, process) != process) continue;
    if (process == leader) host_ = static_cast<unsigned>(leaders_.size());
    leaders_.push_back(process);
    of_leaders_.push_back(all[process]);
  }
  if (memory_) return;
  const Hello& its = all[leader];
  const std::uint32_t pid = fabric_.info({leader}).pid;
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, its.fd);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat file {};
  const bool right = fd >= 0 && fstat(fd, &file) == 0 && file.st_ino == its.inode;
  void* const mapped =
      right ? mmap(nullptr, its.segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
            : MAP_FAILED;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (mapped == MAP_FAILED) {
    throw dtutils::Error(
        "sharing::Space",
        fmt::format("the cache of this host, {}, cannot be mapped: {}", path, std::strerror(error)),
        "let the processes of a host have one user, and see each other in /proc");
  }
  mapped_ = mapped;
  mapped_bytes_ = its.segment_bytes;
  use(static_cast<std::byte*>(mapped) + its.offset);
}

std::uint64_t HostCache::words_bytes() const noexcept {
  return (std::uint64_t{fabric_.founders()} * options_.data * sizeof(Pushed) + 63) / 64 * 64;
}

std::uint64_t HostCache::bytes() const noexcept { return words_bytes() + cached_ * entry_bytes_; }

dtutils::RemoteMemoryLocator HostCache::pushed(unsigned host, const Datum& datum) const noexcept {
  const Hello& there = of_leaders_[host];
  return {there.address + number_of(datum) * sizeof(Pushed), sizeof(std::uint64_t),
          static_cast<std::uint32_t>(there.rkey), leaders_[host], 0};
}

void HostCache::push_here(const Datum& datum, std::uint64_t version) const noexcept {
  std::atomic_ref word(words(datum).version);
  std::uint64_t seen = word.load(std::memory_order_acquire);
  // One that is not whole is being written by a device, which does that again later.
  while (!dtutils::is_hashed_word(seen, datum.index) || (seen & dtutils::kHashedMask) < version) {
    if (word.compare_exchange_weak(seen, word_of(datum, version))) return;
  }
}

void HostCache::keep(const Datum& datum, std::span<const std::byte> from, std::uint64_t version,
                     std::chrono::nanoseconds fetched) noexcept {
  if (from.size() > options_.cached_bytes) return;
  Head& head = this->head(datum);
  std::uint64_t filler = 0;
  const std::uint64_t mine = fabric_.process().value + std::uint64_t{1};
  // Acquire: pairs with the release of who has filled it before.
  if (!std::atomic_ref(head.filler)
           .compare_exchange_strong(filler, mine, std::memory_order_acquire)) {
    return;
  }
  const bool older = load_shared(head.place) == datum.control.place &&
                     load_shared(head.tag) == tag_of(datum) &&
                     load_shared(head.sequence) % 2 == 0 && load_shared(head.version) > version;
  if (!older) {
    store_shared(head.sequence, load_shared(head.sequence) | 1);
    // The number before what follows; pairs with the fence of a reader.
    fence_shared(std::memory_order_release);
    store_shared(head.place, datum.control.place);
    store_shared(head.tag, tag_of(datum));
    store_shared(head.version, version);
    store_shared(head.fetched, static_cast<std::int64_t>(fetched.count()));
    copy_shared(bytes_of(head), from.data(), from.size());
    store_shared(head.sequence, load_shared(head.sequence) + 1, std::memory_order_release);
  }
  store_shared(head.filler, std::uint64_t{0}, std::memory_order_release);
}

}  // namespace sharing::detail
