// SPDX-License-Identifier: MIT
// The receive buffers of a process, and how they go round.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dsfabric/config.hpp"
#include "dtutils/rdma_allocator.hpp"
#include "mesh/receive_queue.hpp"
#include "threads/inbox.hpp"
#include "threads/try_lock.hpp"

namespace dsfabric {

/// Buffers go round:
///
///     posted --take--> with the taker --give_back--> posted, or spare
///                      (or its inbox)    replace: a spare buffer is posted in its place
///
/// When a taker keeps a buffer for later (an inbox), it posts a spare in its place. Spares come
/// from buffers that were given back, else from the allocator, up to Config::receive_limit; beyond
/// it fewer are posted, so that senders wait ("receiver not ready") until handlers give some back.
///
/// take, replace: by whoever holds `taking`, so that the messages of one sender stay in order.
/// give_back: any thread, lock-free.
class Receiver {
 public:
  /// For `queue`. Throws Error when the first buffers cannot be had. Setup only.
  Receiver(ReceiveQueue& queue, dtutils::RDMAAllocator& allocator, const Config& config);
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  TryLock taking;

  /// The next completion; false when there is none. `completion.wr_id` names the buffer.
  bool take(ibv_wc& completion) noexcept { return queue_.completions.poll({&completion, 1}) > 0; }
  /// So many completions at most are there at once.
  std::uint32_t most() const noexcept { return queue_.depth; }
  static ReceiveBuffer& buffer_of(const ibv_wc& completion) noexcept {
    return *reinterpret_cast<ReceiveBuffer*>(completion.wr_id);
  }
  /// Posts a spare buffer for one that its taker keeps.
  void replace() noexcept {
    if (ReceiveBuffer* const spare = take_spare()) {
      post(*spare);
    } else {
      missing_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  /// Posts what is missing, if buffers came back or the queue has room again.
  void refill() noexcept {
    if (missing_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      refill_slowly();
    }
  }
  /// The message of a buffer that was not replaced has been handled. When the queue does not take
  /// the buffer, it becomes a spare, and the receive counts as missing.
  void post(ReceiveBuffer& buffer) noexcept {
    if (!try_post(buffer)) [[unlikely]] {
      missing_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  /// The message of a buffer that was replaced has been handled.
  void give_back(ReceiveBuffer& buffer) noexcept;

  std::size_t buffer_size() const noexcept { return size_; }
  /// Buffers made so far. For tests.
  std::size_t buffers() const noexcept { return made_; }

 private:
  /// False: the queue is full, and the buffer was given back.
  bool try_post(ReceiveBuffer& buffer) noexcept;
  ReceiveBuffer* take_spare() noexcept;
  void refill_slowly() noexcept;
  bool grow() noexcept;
  void carve(dtutils::RDMAMemory memory) noexcept;

  dtutils::RDMAAllocator& allocator_;
  const std::size_t size_;
  const std::size_t stride_;
  const std::size_t limit_;
  ReceiveQueue& queue_;

  /// Room for all buffers there may ever be; the first `made_` exist.
  std::unique_ptr<ReceiveBuffer[]> records_;
  std::size_t made_ = 0;
  std::vector<dtutils::RDMAMemory> slabs_;
  /// Spares of the taker, and those that were given back since it last looked.
  ReceiveBuffer* spares_ = nullptr;
  alignas(dtutils::kCacheLine) std::atomic<ReceiveBuffer*> returned_{nullptr};
  /// Receives that should be posted but are not: there was no buffer, or no room in the queue.
  std::atomic<std::uint32_t> missing_{0};
};

}  // namespace dsfabric
