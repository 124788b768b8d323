// SPDX-License-Identifier: MIT
// Receiver: how buffers are made, and how they go round.
#include "messages/receiver.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dtutils/error.hpp"
#include "job/job_limits.hpp"

namespace dsfabric {
namespace {

std::size_t checked_size(const Config& config) {
  if (config.receive_size < kMinReceiveSize || config.receive_size % dtutils::kCacheLine != 0 ||
      config.receive_size > dtutils::kChunk / 2) {
    throw dtutils::Error("setting receive_size",
                         fmt::format("{} bytes cannot be a receive buffer", config.receive_size),
                         fmt::format("use a multiple of {} from {} to {}", dtutils::kCacheLine,
                                     kMinReceiveSize, dtutils::kChunk / 2));
  }
  return config.receive_size;
}

}  // namespace

Receiver::Receiver(ReceiveQueue& queue, dtutils::RDMAAllocator& allocator, const Config& config)
    : allocator_(allocator),
      size_(checked_size(config)),
      stride_(size_ + kReceiveStagger),
      limit_(std::max<std::size_t>(std::min(config.receive_limit, config.memory_limit) / stride_,
                                   queue.depth)),
      queue_(queue),
      records_(std::make_unique<ReceiveBuffer[]>(limit_)) {
  slabs_.reserve(limit_ / (dtutils::kChunk / stride_) + 2);
  carve(allocator_.allocate(queue_.depth * stride_));
  for (std::uint32_t i = 0; i < queue_.depth; ++i) {
    replace();
  }
}

bool Receiver::try_post(ReceiveBuffer& buffer) noexcept {
  const bool posted =
      queue_.queue.post_receive({buffer.data, static_cast<std::uint32_t>(size_), buffer.lkey},
                                reinterpret_cast<std::uint64_t>(&buffer));
  if (!posted) [[unlikely]] {
    give_back(buffer);
  }
  return posted;
}

void Receiver::give_back(ReceiveBuffer& buffer) noexcept {
  ReceiveBuffer* head = returned_.load(std::memory_order_relaxed);
  do {
    buffer.next.store(head, std::memory_order_relaxed);
    // Release: pairs with the taker's exchange, which then sees the link.
  } while (!returned_.compare_exchange_weak(head, &buffer, std::memory_order_release,
                                            std::memory_order_relaxed));
}

ReceiveBuffer* Receiver::take_spare() noexcept {
  if (spares_ == nullptr) {
    // All at once: a list that only one thread takes from knows no ABA. Acquire: see give_back.
    spares_ = returned_.exchange(nullptr, std::memory_order_acquire);
    if (spares_ == nullptr && !grow()) {
      return nullptr;
    }
  }
  ReceiveBuffer* const spare = spares_;
  spares_ = spare->next.load(std::memory_order_relaxed);
  return spare;
}

void Receiver::refill_slowly() noexcept {
  while (missing_.load(std::memory_order_relaxed) != 0) {
    ReceiveBuffer* const spare = take_spare();
    if (spare == nullptr || !try_post(*spare)) {
      return;
    }
    missing_.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool Receiver::grow() noexcept {
  if (made_ == limit_ || slabs_.size() == slabs_.capacity()) {
    return false;
  }
  auto slab = allocator_.try_allocate(dtutils::kChunk);
  if (!slab) {
    return false;
  }
  carve(std::move(*slab));
  return spares_ != nullptr;
}

void Receiver::carve(dtutils::RDMAMemory memory) noexcept {
  const std::size_t count = std::min(memory.size() / stride_, limit_ - made_);
  // Backwards, so that the list begins with the lowest address.
  for (std::size_t i = count; i-- > 0;) {
    ReceiveBuffer& buffer = records_[made_ + i];
    buffer.data = memory.data() + i * stride_;
    buffer.lkey = memory.lkey();
    buffer.next.store(spares_, std::memory_order_relaxed);
    spares_ = &buffer;
  }
  made_ += count;
  slabs_.push_back(std::move(memory));
}

}  // namespace dsfabric
