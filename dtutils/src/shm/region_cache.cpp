// SPDX-License-Identifier: MIT
// Mapping regions of a peer at their first use, and letting go of them when they are no more.
#include "shm/region_cache.hpp"

#include <sys/stat.h>

#include <new>

#include "shm/peer.hpp"

namespace dtutils::shm {

RegionCache::RegionCache(const Peer& peer)
    : peer_(peer),
      cache_(static_cast<std::atomic<const Translation*>*>(
          std::calloc(kMaxRegions, sizeof(std::atomic<const Translation*>)))) {
  if (cache_ == nullptr) throw std::bad_alloc();
}

std::shared_ptr<const Mapping> RegionCache::map(const RegionEntry& entry) {
  std::weak_ptr<const Mapping>& known = files_[{entry.inode, entry.fd}];
  if (auto mapped = known.lock()) return mapped;
  const Descriptor file = peer_.open_descriptor(entry.fd, O_RDWR);
  struct stat status {};
  // The descriptor may mean another file by now, and a shorter one would mean SIGBUS.
  if (!file || fstat(file.get(), &status) != 0 || status.st_ino != entry.inode ||
      static_cast<std::uint64_t>(status.st_size) < entry.segment_size) {
    return nullptr;
  }
  auto mapped = std::make_shared<const Mapping>(file, entry.segment_size);
  if (!*mapped) return nullptr;
  known = mapped;
  return mapped;
}

const Translation* RegionCache::find_slowly(std::uint32_t rkey, bool& refused) noexcept try {
  RegionEntry& entry = peer_.shared().regions[region_index(rkey)];
  const std::scoped_lock lock(mutex_);
  // seq_cst: after the send lock was taken; from here on dereg_mr waits for us, so that the fields
  // belong to the key.
  if (rkey == 0 || entry.key.load(std::memory_order_seq_cst) != rkey) return nullptr;
  Translation made{rkey,         entry.access, entry.pd, entry.address,
                   entry.length, nullptr,      &entry,   nullptr};
  if (peer_.is_self()) {
    made.local = reinterpret_cast<std::byte*>(entry.address);
  } else if (entry.fd >= 0) {
    made.file = map(entry);
    if (made.file == nullptr) {
      refused = true;
      return nullptr;
    }
    made.local = made.file->base() + entry.segment_offset;
  }
  const Translation& kept = translations_.emplace_back(std::move(made));
  // Relaxed: before our send lock is released, which dereg_mr waits for.
  entry.in_use.store(1, std::memory_order_relaxed);
  cache_[region_index(rkey)].store(&kept, std::memory_order_release);
  return &kept;
} catch (const std::bad_alloc&) {
  refused = true;
  return nullptr;
}

void RegionCache::set_dead_aside() noexcept {
  const std::scoped_lock lock(mutex_);
  for (auto at = translations_.begin(); at != translations_.end();) {
    const auto each = at++;
    if (each->is_live()) continue;
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
