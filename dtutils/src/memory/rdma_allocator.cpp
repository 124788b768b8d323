// SPDX-License-Identifier: MIT
// Superpages by page kind, chunks out of them, and the quarantine of chunks still in use.
#include "dtutils/rdma_allocator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "dtutils/error.hpp"
#include "dtutils/log.hpp"
#include "memory/page_kind.hpp"
#include "memory/sizes.hpp"
#include "memory/superpage.hpp"

namespace dtutils {
namespace {

/// Looks for chunks while other threads free and claim some, which can hide them from each look.
constexpr int kMaxLooks = 1000;

std::size_t chunks_for(std::size_t bytes) noexcept {
  return std::max<std::size_t>(1, bytes / kChunk + (bytes % kChunk != 0 ? 1 : 0));
}

}  // namespace

RDMAAllocator::RDMAAllocator(ProtectionDomain& pd, NumaZone zone, RDMAAllocatorOptions options)
    : pd_(pd), zone_(zone), options_(std::move(options)) {
  if (options_.superpage == 0 || options_.superpage % kChunk != 0 || options_.limit < kChunk ||
      options_.page_kinds.empty()) {
    throw Error(name(),
                fmt::format("superpages of {}, a limit of {} and {} kinds of pages do not do",
                            format_bytes(options_.superpage), format_bytes(options_.limit),
                            options_.page_kinds.size()),
                fmt::format("superpages are multiples of {0}, the limit is at least {0}, and one "
                            "kind of page is allowed",
                            format_bytes(kChunk)));
  }
  options_.superpage = std::min(options_.superpage, options_.limit / kChunk * kChunk);
  const std::lock_guard lock(growing_);
  publish(take_from_system(options_.superpage, kChunk));
}

RDMAAllocator::~RDMAAllocator() = default;

std::optional<RDMAMemory> RDMAAllocator::try_allocate(std::size_t bytes) noexcept {
  const std::size_t chunks = chunks_for(bytes);
  std::optional<RDMAMemory> memory = claim(chunks);
  if (!memory && quarantine_.load(std::memory_order_relaxed) != nullptr) {
    // Who sweeps already does it for us; we do not wait for it.
    if (const std::unique_lock sweeping(sweeping_, std::try_to_lock); sweeping) sweep(false);
    memory = claim(chunks);
  }
  return memory;
}

RDMAMemory RDMAAllocator::allocate(std::size_t bytes) {
  if (std::optional<RDMAMemory> memory = try_allocate(bytes)) {
    return std::move(*memory);
  }
  const std::size_t chunks = chunks_for(bytes);
  const std::lock_guard sweeping(sweeping_);
  if (std::optional<RDMAMemory> memory = claim_for_certain(chunks)) {
    return std::move(*memory);
  }
  const std::lock_guard lock(growing_);
  // Another thread may have added a superpage in the meantime.
  if (std::optional<RDMAMemory> memory = claim(chunks)) {
    return std::move(*memory);
  }
  const std::size_t room = (options_.limit - reserved()) / kChunk;
  if (chunks > room) {
    throw Error(
        name(),
        fmt::format("{} do not fit: {} of the limit of {} are taken, and nothing of that "
                    "size is free in a row",
                    format_bytes(bytes), format_bytes(reserved()), format_bytes(options_.limit)),
        fmt::format("raise {}, or give memory back and let it retire", options_.limit_name));
  }
  if (chunks * kChunk > options_.superpage) {
    segments_.push_back(take_from_system(chunks * kChunk, chunks * kChunk));
    return segments_.back()->hand_out(*segments_.back()->claim(1), zone_);
  }
  std::unique_ptr<Superpage> superpage =
      take_from_system(std::min(options_.superpage, room * kChunk), kChunk);
  ChunkRecord& record = *superpage->claim(chunks);
  publish(std::move(superpage));
  return record.home->hand_out(record, zone_);
}

std::optional<RDMAMemory> RDMAAllocator::claim(std::size_t chunks) noexcept {
  // Acquire: pairs with the release in publish(), so that the superpage is seen complete.
  for (Superpage* at = first_.load(std::memory_order_acquire); at != nullptr;
       at = at->next.load(std::memory_order_acquire)) {
    if (ChunkRecord* record = at->claim(chunks)) {
      return at->hand_out(*record, zone_);
    }
  }
  return std::nullopt;
}

std::optional<RDMAMemory> RDMAAllocator::claim_for_certain(std::size_t chunks) noexcept {
  std::optional<RDMAMemory> memory;
  for (int looks = 0; looks < kMaxLooks; ++looks) {
    const std::uint64_t seen = freed_.load(std::memory_order_relaxed);
    memory = claim(chunks);
    if (memory) break;
    sweep(true);
    if (freed_.load(std::memory_order_relaxed) == seen) break;
  }
  return memory;
}

void RDMAAllocator::publish(std::unique_ptr<Superpage> superpage) {
  superpages_.push_back(std::move(superpage));
  const std::size_t count = superpages_.size();
  std::atomic<Superpage*>& link = count == 1 ? first_ : superpages_[count - 2]->next;
  // Release: pairs with the acquire in claim().
  link.store(superpages_.back().get(), std::memory_order_release);
}

std::unique_ptr<Superpage> RDMAAllocator::take_from_system(std::size_t bytes, std::size_t chunk) {
  std::unique_ptr<SharedSegment> segment;
  std::string refused;
  for (const PageKind kind : options_.page_kinds) {
    if (bytes % page_size(kind) != 0) {
      refused +=
          fmt::format("; no {}: {} are not a multiple", to_string(kind), format_bytes(bytes));
      continue;
    }
    try {
      segment = std::make_unique<SharedSegment>(bytes, kind, zone_.node);
      break;
    } catch (const Error& error) {
      const std::string_view reason = std::string_view(error.what()).substr(error.object().size());
      refused += fmt::format("; no {}{}", to_string(kind), reason);
    }
  }
  if (!segment) {
    throw Error(name(), fmt::format("the system does not give {}", format_bytes(bytes)),
                "mend one of these, or allow another kind of page" + refused);
  }
  const PageKind kind = segment->page_kind();
  detail::MemoryOwner& owner = *this;
  auto superpage = std::make_unique<Superpage>(pd_, std::move(segment), chunk, options_.access,
                                               owner, options_.queue_pairs);
  report_ = fmt::format("{}: {} on {}{}", name(), format_bytes(bytes), to_string(kind), refused);
  log(LogLevel::kInfo, name(), std::string_view(report_).substr(name().size() + 2));
  page_kind_.store(kind, std::memory_order_relaxed);
  reserved_.fetch_add(superpage->size(), std::memory_order_relaxed);
  return superpage;
}

void RDMAAllocator::take_back(detail::MemorySlot& slot) noexcept {
  auto& record = static_cast<ChunkRecord&>(slot);
  if (record.tags.done()) {
    give_back(record);
  } else {
    quarantine(record);
  }
}

void RDMAAllocator::give_back(ChunkRecord& record) noexcept {
  Superpage& home = *record.home;
  if (home.chunk() == kChunk) {
    home.release(record);
    // After the release and before this thread claims again, see claim_for_certain().
    freed_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::unique_ptr<Superpage> segment;
  const std::lock_guard lock(growing_);
  const auto at = std::find_if(segments_.begin(), segments_.end(),
                               [&](const auto& other) { return other.get() == &home; });
  segment = std::move(*at);
  segments_.erase(at);
  reserved_.fetch_sub(segment->size(), std::memory_order_relaxed);
  freed_.fetch_add(1, std::memory_order_relaxed);
}

void RDMAAllocator::quarantine(ChunkRecord& record) noexcept {
  record.next = quarantine_.load(std::memory_order_relaxed);
  // Release: pairs with the acquire in sweep(), which reads the record's tags.
  while (!quarantine_.compare_exchange_weak(record.next, &record, std::memory_order_release,
                                            std::memory_order_relaxed)) {
  }
}

std::size_t RDMAAllocator::sweep(bool segments_too) noexcept {
  std::size_t waiting = 0;
  // Takes the whole list, so that no other thread can change it under our hands. Acquire: pairs
  // with the release in quarantine().
  ChunkRecord* record = quarantine_.exchange(nullptr, std::memory_order_acquire);
  while (record != nullptr) {
    ChunkRecord* const next = record->next;
    if (record->tags.done() && (segments_too || record->home->chunk() == kChunk)) {
      give_back(*record);
    } else {
      quarantine(*record);
      ++waiting;
    }
    record = next;
  }
  return waiting;
}

std::size_t RDMAAllocator::collect() noexcept {
  const std::lock_guard lock(sweeping_);
  return sweep(true);
}

std::string RDMAAllocator::name() const {
  return fmt::format("registered memory of NUMA zone {}", zone_.node);
}

std::string RDMAAllocator::report() const {
  const std::lock_guard lock(growing_);
  return report_;
}

std::size_t RDMAAllocator::in_use() const {
  const std::lock_guard lock(growing_);
  std::size_t bytes = 0;
  for (const auto* list : {&superpages_, &segments_}) {
    for (const auto& superpage : *list) {
      bytes += superpage->in_use();
    }
  }
  return bytes;
}

bool RDMAAllocator::invariant() const {
  const std::lock_guard lock(growing_);
  std::size_t bytes = 0;
  for (const auto* list : {&superpages_, &segments_}) {
    for (const auto& superpage : *list) {
      bytes += superpage->size();
      if (!superpage->invariant()) {
        return false;
      }
    }
  }
  return bytes == reserved() && bytes <= options_.limit;
}

}  // namespace dtutils
