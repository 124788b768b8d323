// SPDX-License-Identifier: MIT
// LocalPool: how its buffers are made, and how they come back.
#include "threads/local_pool.hpp"

#include <algorithm>
#include <new>

#include "dsfabric/send_space.hpp"

namespace dsfabric {
namespace {

std::size_t lines_of(std::size_t bytes) noexcept {
  return (bytes + dtutils::kCacheLine - 1) / dtutils::kCacheLine;
}

}  // namespace

LocalPool::LocalPool(std::size_t bytes, std::size_t limit) noexcept
    : lines_(lines_of(bytes) + 1), limit_(std::max(limit / (lines_ * sizeof(Line)), kFirstGroup)) {}

ReceiveBuffer* LocalPool::take(bool beyond_limit) {
  if (spares_ == nullptr) {
    // All at once: a list that only one thread takes from knows no ABA. Acquire: see give_back.
    spares_ = returned_.exchange(nullptr, std::memory_order_acquire);
    if (spares_ == nullptr) {
      if (made_ >= limit_ && !beyond_limit) return nullptr;
      grow();
    }
  }
  ReceiveBuffer* const buffer = spares_;
  spares_ = buffer->next.load(std::memory_order_relaxed);
  return buffer;
}

void LocalPool::give_back(ReceiveBuffer& buffer) noexcept {
  ReceiveBuffer* head = returned_.load(std::memory_order_relaxed);
  do {
    buffer.next.store(head, std::memory_order_relaxed);
    // Release: pairs with the owner's exchange, which then sees the link, and may write the bytes.
  } while (!returned_.compare_exchange_weak(head, &buffer, std::memory_order_release,
                                            std::memory_order_relaxed));
}

void LocalPool::grow() {
  const std::size_t count = std::max(made_, kFirstGroup);
  groups_.reserve(groups_.size() + 1);
  auto lines = std::make_unique_for_overwrite<Line[]>(count * lines_);
  // Backwards, so that the list begins with the lowest address.
  for (std::size_t i = count; i-- > 0;) {
    Line* const line = &lines[i * lines_];
    auto* const buffer = new (line) ReceiveBuffer;
    buffer->data = (line + 1)->bytes;
    buffer->pool = this;
    put_back(*buffer);
  }
  groups_.push_back(std::move(lines));
  made_ += count;
}

LocalPools::LocalPools(std::size_t receive_size, std::size_t limit) noexcept
    : small(kInlineMessage, limit), large(receive_size, limit) {}

ReceiveBuffer* LocalPools::take(std::size_t bytes, bool beyond_limit) {
  return (bytes <= kInlineMessage ? small : large).take(beyond_limit);
}

}  // namespace dsfabric
