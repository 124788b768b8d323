// SPDX-License-Identifier: MIT
// Claims and releases rows of chunks by compare-and-swap on the words of a bitmap.
#include "memory/superpage.hpp"

#include <algorithm>
#include <bit>

namespace dtutils {
namespace {

constexpr std::size_t kWordBits = 64;
constexpr std::uint64_t kAllSet = ~std::uint64_t{0};

/// The part of chunks [begin, end) that lies in the word of `begin`.
struct WordPart {
  WordPart(std::size_t begin, std::size_t end) noexcept
      : word(begin / kWordBits), count(std::min(end - begin, kWordBits - begin % kWordBits)) {
    mask = (count == kWordBits ? kAllSet : (std::uint64_t{1} << count) - 1) << begin % kWordBits;
  }
  std::size_t word;
  std::size_t count;
  std::uint64_t mask;
};

}  // namespace

Superpage::Superpage(ProtectionDomain& pd, std::unique_ptr<SharedSegment> segment,
                     std::size_t chunk, int access, detail::MemoryOwner& owner,
                     std::uint32_t queue_pairs)
    : segment_(std::move(segment)),
      region_(pd, segment_->data(), segment_->size(), access),
      chunk_(chunk),
      records_(segment_->size() / chunk),
      words_((records_.size() + kWordBits - 1) / kWordBits) {
  for (ChunkRecord& record : records_) {
    record.tags.reserve(queue_pairs);
    record.owner = &owner;
    record.home = this;
  }
}

bool Superpage::claimed(std::size_t index) const noexcept {
  // Only a hint: mark() decides. Acquire: pairs with the release in mark(), so that who finds a
  // chunk taken sees in which way the thread that took it had parted with another one before: it
  // freed it, or left it in quarantine. See RDMAAllocator::claim_for_certain().
  const std::uint64_t word = words_[index / kWordBits].load(std::memory_order_acquire);
  return (word >> index % kWordBits & 1) != 0;
}

ChunkRecord* Superpage::claim(std::size_t count) noexcept {
  std::size_t run = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    run = claimed(i) ? 0 : run + 1;
    if (run < count) {
      continue;
    }
    const std::size_t begin = i + 1 - count;
    if (mark(begin, count)) {
      records_[begin].chunks = count;
      return &records_[begin];
    }
    run = 0;
  }
  return nullptr;
}

bool Superpage::mark(std::size_t begin, std::size_t count) noexcept {
  for (std::size_t at = begin; at < begin + count;) {
    const WordPart part(at, begin + count);
    std::uint64_t old = words_[part.word].load(std::memory_order_relaxed);
    do {
      if ((old & part.mask) != 0) {
        unmark(begin, at - begin);
        return false;
      }
      // Acquire: pairs with the release in unmark(), so that the record and the bytes are as their
      // last user left them. Release: pairs with the fence in RDMAAllocator::claim_for_certain.
    } while (!words_[part.word].compare_exchange_weak(
        old, old | part.mask, std::memory_order_acq_rel, std::memory_order_relaxed));
    at += part.count;
  }
  return true;
}

void Superpage::unmark(std::size_t begin, std::size_t count) noexcept {
  for (std::size_t at = begin; at < begin + count;) {
    const WordPart part(at, begin + count);
    // Release: pairs with the acquire in mark().
    words_[part.word].fetch_and(~part.mask, std::memory_order_release);
    at += part.count;
  }
}

void Superpage::release(ChunkRecord& record) noexcept {
  record.tags.clear();
  const std::size_t count = std::exchange(record.chunks, 0);
  unmark(static_cast<std::size_t>(&record - records_.data()), count);
}

RDMAMemory Superpage::hand_out(ChunkRecord& record, NumaZone zone) noexcept {
  const auto index = static_cast<std::size_t>(&record - records_.data());
  return {segment_->data() + index * chunk_,
          record.chunks * chunk_,
          region_.lkey(),
          region_.rkey(),
          zone,
          record};
}

std::size_t Superpage::in_use() const noexcept {
  std::size_t chunks = 0;
  for (const auto& word : words_) {
    chunks += static_cast<std::size_t>(std::popcount(word.load(std::memory_order_relaxed)));
  }
  return chunks * chunk_;
}

bool Superpage::invariant() const noexcept {
  std::size_t left = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const ChunkRecord& record = records_[i];
    const bool inside = left > 0;
    if (inside && (record.chunks != 0 || record.handles != 0)) {
      return false;
    }
    left = inside ? left : record.chunks;
    if (claimed(i) != (left > 0)) {
      return false;
    }
    left -= left > 0 ? 1 : 0;
  }
  return left == 0;
}

}  // namespace dtutils
