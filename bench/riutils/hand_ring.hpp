// SPDX-License-Identifier: MIT
// The ceiling: a ring written by hand for this one purpose, in memory that both processes share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "bench/harness/bench.hpp"

namespace ring_bench {

/// One producer, one consumer; batches of 4 KiB of records {function, length, payload}, one
/// indirect call a record. Nothing is checked; nothing can grow, fail, or wait for anything else.
class HandRing {
 public:
  HandRing() : memory_(sizeof(Shared)), shared_(*memory_.as<Shared>()) {}

  /// `calls` in whole batches.
  template <std::size_t kPayload>
  static std::uint64_t whole(std::uint64_t calls) noexcept {
    return (calls + kPerBatch<kPayload> - 1) / kPerBatch<kPayload> * kPerBatch<kPayload>;
  }

  /// Process 0: makes that many calls, a whole number of batches, and returns when all have run.
  template <std::size_t kPayload>
  void call(std::uint64_t calls) const {
    const std::uint64_t end = head_ + calls / kPerBatch<kPayload>;
    std::uint64_t payload[kPayload / 8];
    std::memset(payload, 1, sizeof payload);
    while (head_ < end) {
      while (head_ - shared_.tail.load(std::memory_order_acquire) >= kBatches) {
      }
      std::byte* at = shared_.bytes + head_ % kBatches * kBatch;
      for (std::size_t i = 0; i < kPerBatch<kPayload>; ++i) {
        const std::uint32_t record[2] = {(i & 63) == 7, kPayload};
        payload[0] = i;
        asm volatile("" ::"r"(payload) : "memory");
        std::memcpy(at, record, sizeof record);
        std::memcpy(at + sizeof record, payload, kPayload);
        at += sizeof record + kPayload;
      }
      shared_.head.store(++head_, std::memory_order_release);
    }
    while (shared_.tail.load(std::memory_order_acquire) != head_) {
    }
  }

  /// Process 1: runs them.
  template <std::size_t kPayload>
  void serve(std::uint64_t calls) const {
    using Function = void (*)(const std::byte*, std::uint32_t);
    static const volatile Function functions[2] = {add_first, add_first_and_one};
    const Function table[2] = {functions[0], functions[1]};
    const std::uint64_t end = head_ + calls / kPerBatch<kPayload>;
    while (head_ < end) {
      while (shared_.head.load(std::memory_order_acquire) == head_) {
      }
      const std::byte* at = shared_.bytes + head_ % kBatches * kBatch;
      const std::byte* const last = at + kPerBatch<kPayload> * (8 + kPayload);
      while (at < last) {
        std::uint32_t record[2];
        std::memcpy(record, at, sizeof record);
        table[record[0]](at + sizeof record, record[1]);
        at += sizeof record + record[1];
      }
      shared_.tail.store(++head_, std::memory_order_release);
    }
  }

  /// What ran here, for the check after the clock has stopped.
  static std::uint64_t take_count() noexcept {
    const std::uint64_t count = counters().calls;
    counters() = {};
    return count;
  }

 private:
  static constexpr std::size_t kBatch = 4096;
  static constexpr std::size_t kBatches = 64;
  template <std::size_t kPayload>
  static constexpr std::size_t kPerBatch = kBatch / (8 + kPayload);

  struct Shared {
    alignas(64) std::atomic<std::uint64_t> head;
    alignas(64) std::atomic<std::uint64_t> tail;
    alignas(4096) std::byte bytes[kBatches * kBatch];
  };
  struct Counters {
    std::uint64_t calls = 0;
    std::uint64_t sum = 0;
  };
  static Counters& counters() noexcept {
    static Counters all;
    return all;
  }
  [[gnu::noinline]] static void add_first(const std::byte* payload, std::uint32_t) {
    std::uint64_t first;
    std::memcpy(&first, payload, sizeof first);
    ++counters().calls;
    counters().sum += first;
  }
  [[gnu::noinline]] static void add_first_and_one(const std::byte* payload, std::uint32_t) {
    std::uint64_t first;
    std::memcpy(&first, payload, sizeof first);
    ++counters().calls;
    counters().sum += first + 1;
  }

  bench::SharedMemory memory_;
  Shared& shared_;
  /// Batches made, or run; in each process its own.
  mutable std::uint64_t head_ = 0;
};

/// Calls a second through it, the end of the last one included.
template <std::size_t kBytes>
bench::Variant by_hand(const HandRing& ring) {
  return {.name = "ring",
          .measure =
              [&ring](bench::Batch& batch) {
                const std::uint64_t calls = HandRing::whole<kBytes>(batch.iterations());
                const double ns = batch.time_ns([&] { ring.call<kBytes>(calls); });
                return static_cast<double>(calls) * 1e9 / ns;
              },
          .assist =
              [&ring](bench::Batch& batch) {
                const std::uint64_t calls = HandRing::whole<kBytes>(batch.iterations());
                ring.serve<kBytes>(calls);
                if (HandRing::take_count() != calls) {
                  throw std::runtime_error("the ring lost calls");
                }
              }};
}

}  // namespace ring_bench
