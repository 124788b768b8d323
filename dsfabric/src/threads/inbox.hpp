// SPDX-License-Identifier: MIT
// The queue of messages that wait for one thread: receive buffers, linked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dtutils/limits.hpp"

namespace dsfabric {

class LocalPool;

/// A receive buffer. It is posted, or in the hands of whoever took its message in, or in an inbox,
/// or spare; `next` links the latter two. The bytes belong to the device while it is posted. A
/// message that a process sends to itself lies in one that is never posted.
struct ReceiveBuffer {
  std::atomic<ReceiveBuffer*> next{nullptr};
  std::byte* data = nullptr;
  std::uint32_t lkey = 0;
  /// Where it comes from; nullptr: from the Receiver.
  LocalPool* pool = nullptr;
};

/// Multi-producer, single-consumer queue of receive buffers (D. Vyukov's intrusive queue): FIFO
/// among the messages of one producer. It never allocates; the pool of buffers bounds it.
///
/// push: any thread, wait-free. pop and empty: owner thread only, wait-free; a pop may miss a
/// message that is just being pushed, and those that were pushed after it.
class Inbox {
 public:
  Inbox() noexcept : last_(&stub_), first_(&stub_) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  void push(ReceiveBuffer& buffer) noexcept {
    buffer.next.store(nullptr, std::memory_order_relaxed);
    // Acquire and release: orders the links of two producers; the consumer pairs with the store.
    ReceiveBuffer* const before = last_.exchange(&buffer, std::memory_order_acq_rel);
    // Release: pairs with the loads of `next` in pop, which then sees the message.
    before->next.store(&buffer, std::memory_order_release);
  }

  ReceiveBuffer* pop() noexcept {
    ReceiveBuffer* first = first_;
    ReceiveBuffer* next = first->next.load(std::memory_order_acquire);
    if (first == &stub_) {
      if (next == nullptr) {
        return nullptr;
      }
      first_ = first = next;
      next = first->next.load(std::memory_order_acquire);
    }
    if (next == nullptr) {
      // The only one. Another node must follow before it can be taken out.
      if (last_.load(std::memory_order_acquire) != first) {
        return nullptr;
      }
      push(stub_);
      next = first->next.load(std::memory_order_acquire);
      if (next == nullptr) {
        return nullptr;
      }
    }
    first_ = next;
    return first;
  }

  /// Nothing has been pushed that pop has not given out. The links do not tell: a message that is
  /// just being pushed hides those that have been pushed behind it.
  bool empty() const noexcept {
    return first_ == &stub_ && last_.load(std::memory_order_acquire) == &stub_;
  }

 private:
  alignas(dtutils::kCacheLine) std::atomic<ReceiveBuffer*> last_;
  alignas(dtutils::kCacheLine) ReceiveBuffer* first_;
  ReceiveBuffer stub_;
};

}  // namespace dsfabric
