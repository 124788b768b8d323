// SPDX-License-Identifier: MIT
// Mapping regions of a peer at their first use, and letting go of them when they are no more.
#include "shm/region_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <new>
#include <optional>

#include "shm/peer.hpp"
#include "shm/segment.hpp"

namespace dtutils::shm {

struct RegionCache::Claim {
  explicit Claim(const RegionEntry& entry) noexcept
      : fd(read_once(entry.fd)),
        address(read_once(entry.address)),
        length(read_once(entry.length)),
        inode(read_once(entry.inode)),
        segment_size(read_once(entry.segment_size)),
        segment_offset(read_once(entry.segment_offset)) {}

  bool lies_in_segment() const noexcept {
    return segment_offset <= segment_size && length <= segment_size - segment_offset;
  }

  std::int32_t fd;
  std::uint64_t address;
  std::uint64_t length;
  std::uint64_t inode;
  std::uint64_t segment_size;
  std::uint64_t segment_offset;
};

RegionCache::RegionCache(Peer& peer)
    : peer_(peer),
      cache_(static_cast<std::atomic<const Translation*>*>(
          std::calloc(kMaxRegions, sizeof(std::atomic<const Translation*>)))) {
  if (cache_ == nullptr) throw std::bad_alloc();
}

std::shared_ptr<const Mapping> RegionCache::map(const Claim& claim, Refusal& refusal) {
  std::weak_ptr<const Mapping>& known = files_[{claim.inode, claim.fd}];
  if (auto mapped = known.lock(); mapped != nullptr && mapped->size() == claim.segment_size) {
    return mapped;
  }
  refusal = Refusal::kCannotMap;
  const Descriptor file = peer_.open_descriptor(claim.fd, O_RDWR);
  struct stat status {};
  // The descriptor may mean another file by now.
  if (!file || fstat(file.get(), &status) != 0 || status.st_ino != claim.inode) return nullptr;
  // A file that is shorter, or that can be made so, would mean SIGBUS.
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 ||
      static_cast<std::uint64_t>(status.st_size) < claim.segment_size) {
    refusal = Refusal::kDamaged;
    return nullptr;
  }
  auto mapped = std::make_shared<const Mapping>(file, claim.segment_size);
  if (!*mapped) return nullptr;
  known = mapped;
  return mapped;
}

Refusal RegionCache::translate_own(Translation& made) {
  const std::optional<OwnRegion> own = peer_.self()->region(made.key);
  if (!own) return Refusal::kDamaged;
  made.access = own->access;
  made.pd = own->pd;
  made.begin = own->address;
  made.length = own->length;
  made.local = reinterpret_cast<std::byte*>(own->address);
  return Refusal::kNone;
}

Refusal RegionCache::translate(const RegionEntry& entry, Translation& made) {
  if (peer_.is_self()) return translate_own(made);
  const Claim claim(entry);
  made.access = read_once(entry.access);
  made.pd = read_once(entry.pd);
  made.begin = claim.address;
  made.length = claim.length;
  if (claim.fd < 0) return Refusal::kNone;
  if (!claim.lies_in_segment()) return Refusal::kDamaged;
  Refusal refusal = Refusal::kNone;
  made.file = map(claim, refusal);
  if (made.file == nullptr) return refusal;
  made.local = made.file->base() + claim.segment_offset;
  return Refusal::kNone;
}

const Translation* RegionCache::find_slowly(std::uint32_t rkey, Refusal& refusal) noexcept try {
  RegionEntry& entry = peer_.shared().regions[region_index(rkey)];
  const std::scoped_lock lock(mutex_);
  // seq_cst: after the send lock was taken; from here on dereg_mr waits for us, so that the fields
  // belong to the key.
  if (rkey == 0) return nullptr;
  // seq_cst, and before the key is read: dereg_mr, which takes the key away and then looks here,
  // waits for us or we find no key.
  entry.in_use.store(1, std::memory_order_seq_cst);
  if (entry.key.load(std::memory_order_seq_cst) != rkey) return nullptr;
  Translation made{rkey, 0, 0, 0, 0, nullptr, &entry, nullptr};
  refusal = translate(entry, made);
  if (refusal != Refusal::kNone) return nullptr;
  const Translation& kept = translations_.emplace_back(std::move(made));
  cache_[region_index(rkey)].store(&kept, std::memory_order_release);
  return &kept;
} catch (const std::bad_alloc&) {
  refusal = Refusal::kCannotMap;
  return nullptr;
}

void RegionCache::set_dead_aside(bool all) noexcept {
  const std::scoped_lock lock(mutex_);
  all_set_aside_ = all;
  for (auto at = translations_.begin(); at != translations_.end();) {
    const auto each = at++;
    if (!all && each->is_live()) continue;
    const Translation* cached = &*each;
    cache_[region_index(each->key)].compare_exchange_strong(cached, nullptr);
    dead_.splice(dead_.end(), translations_, each);
  }
}

void RegionCache::release_dead() noexcept {
  const std::scoped_lock lock(mutex_);
  if (dead_.empty()) return;
  dead_.clear();
  std::erase_if(files_, [](const auto& file) { return file.second.expired(); });
}

}  // namespace dtutils::shm
