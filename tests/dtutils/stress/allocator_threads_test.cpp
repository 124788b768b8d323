// SPDX-License-Identifier: MIT
// Threads that allocate, tag, pass on and free at once never get the same bytes.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dtutils/general_allocator.hpp"
#include "dtutils/rdma_allocator.hpp"
#include "support/catch.hpp"
#include "support/fake_device.hpp"
#include "support/random.hpp"
#include "support/require.hpp"
#include "support/threads.hpp"

namespace {

using dtutils::kChunk;
using dtutils::RDMAAllocator;
using dtutils::RDMAMemory;
using support::require;

constexpr int kThreads = 4;
constexpr int kSteps = 50'000;

/// Where a piece carries its mark: at the start of every chunk, and at its end.
std::vector<std::byte*> marked_places(const RDMAMemory& memory) {
  std::vector<std::byte*> places{memory.data() + memory.size() - sizeof(std::uint64_t)};
  for (std::size_t at = 0; at + 2 * sizeof(std::uint64_t) <= memory.size(); at += kChunk) {
    places.push_back(memory.data() + at);
  }
  return places;
}

void mark(const RDMAMemory& memory, std::uint64_t mark) {
  for (std::byte* place : marked_places(memory)) std::memcpy(place, &mark, sizeof mark);
}

bool is_marked(const RDMAMemory& memory, std::uint64_t mark) {
  const std::vector<std::byte*> places = marked_places(memory);
  return std::all_of(places.begin(), places.end(), [&](const std::byte* place) {
    return std::memcmp(place, &mark, sizeof mark) == 0;
  });
}

struct Marked {
  RDMAMemory memory;
  std::uint64_t mark;
};

/// Where threads leave pieces for each other.
class Exchange {
 public:
  void put(Marked piece) {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::move(piece));
  }
  std::optional<Marked> take() {
    const std::lock_guard lock(mutex_);
    if (pieces_.empty()) return std::nullopt;
    Marked piece = std::move(pieces_.back());
    pieces_.pop_back();
    return piece;
  }

 private:
  std::mutex mutex_;
  std::vector<Marked> pieces_;
};

/// A queue pair shared by the threads: a tag is done after `kWindow` further posts.
class SharedQueuePair {
 public:
  dtutils::RetireTag post() {
    const std::uint64_t ticket = issued_.fetch_add(1);
    constexpr std::uint64_t kWindow = 32;
    if (ticket >= kWindow) {
      std::uint64_t seen = retired_.load();
      while (seen < ticket - kWindow && !retired_.compare_exchange_weak(seen, ticket - kWindow)) {
      }
    }
    return {&retired_, ticket};
  }
  void complete_all() { retired_ = UINT64_MAX; }

 private:
  std::atomic<std::uint64_t> issued_{0};
  std::atomic<std::uint64_t> retired_{0};
};

/// Allocates, marks, checks, tags and frees on all threads; half of the pieces by another thread.
template <class Allocate>
void churn(std::uint64_t seed, SharedQueuePair& qp, Allocate allocate) {
  Exchange exchange;
  std::atomic<std::uint64_t> next_mark{1};
  support::Threads threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.start([&, thread] {
      support::Random random(seed + static_cast<std::uint64_t>(thread));
      std::vector<Marked> held;
      for (int step = 0; step < kSteps; ++step) {
        std::optional<RDMAMemory> memory = allocate(random);
        if (memory) {
          const std::uint64_t own = next_mark.fetch_add(1);
          mark(*memory, own);
          held.push_back({std::move(*memory), own});
        }
        if (!held.empty() && (!memory || random.one_in(2))) {
          std::swap(held[random.below(held.size())], held.back());
          exchange.put(std::move(held.back()));
          held.pop_back();
        }
        if (std::optional<Marked> piece = exchange.take()) {
          require(is_marked(piece->memory, piece->mark),
                  "nobody wrote into this piece, seed " + std::to_string(seed));
          if (random.one_in(2)) require(piece->memory.retire_at(qp.post()), "room for one tag");
        }
      }
      for (const Marked& piece : held) {
        require(is_marked(piece.memory, piece.mark),
                "nobody wrote into this piece, seed " + std::to_string(seed));
      }
    });
  }
  threads.join();
}

}  // namespace

TEST_CASE("threads_never_share_a_chunk") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::FakeDevice device;
  dtutils::ProtectionDomain pd(device);
  RDMAAllocator allocator(
      pd, {},
      {.superpage = 70 * kChunk, .limit = 140 * kChunk, .page_kinds = {dtutils::PageKind::kSmall}});
  SharedQueuePair qp;
  churn(seed, qp, [&](support::Random& random) -> std::optional<RDMAMemory> {
    const std::size_t bytes = kChunk * (random.one_in(3) ? 1 + random.below(5) : 1);
    if (!random.one_in(8)) return allocator.try_allocate(bytes);
    try {
      return allocator.allocate(bytes);
    } catch (const dtutils::Error&) {
      return std::nullopt;
    }
  });
  qp.complete_all();
  CHECK(allocator.collect() == 0);
  CHECK(allocator.in_use() == 0);
  CHECK(allocator.invariant());
  CHECK(allocator.reserved() <= 140 * kChunk);
}

TEST_CASE("threads_that_do_nothing_else_never_share_a_chunk") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  constexpr std::size_t kChunks = 6;
  support::FakeDevice device;
  dtutils::ProtectionDomain pd(device);
  RDMAAllocator allocator(pd, {},
                          {.superpage = kChunks * kChunk,
                           .limit = kChunks * kChunk,
                           .page_kinds = {dtutils::PageKind::kSmall}});
  const auto* const begin = static_cast<const std::byte*>(device.regions()[0].begin);
  std::array<std::atomic<int>, kChunks> users{};
  support::Threads threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.start([&, thread] {
      support::Random random(seed + static_cast<std::uint64_t>(thread));
      for (int step = 0; step < 20 * kSteps; ++step) {
        const std::optional<RDMAMemory> memory =
            allocator.try_allocate(kChunk * (1 + random.below(3)));
        if (!memory) continue;
        const auto first = static_cast<std::size_t>(memory->data() - begin) / kChunk;
        const std::size_t end = first + memory->size() / kChunk;
        for (std::size_t i = first; i < end; ++i) {
          require(users[i].fetch_add(1) == 0, "nobody else has this chunk");
        }
        for (std::size_t i = first; i < end; ++i) users[i].fetch_sub(1);
      }
    });
  }
  threads.join();
  CHECK(allocator.in_use() == 0);
  CHECK(allocator.invariant());
}

TEST_CASE("threads_never_share_a_segment_of_their_own") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::FakeDevice device;
  dtutils::ProtectionDomain pd(device);
  RDMAAllocator allocator(
      pd, {},
      {.superpage = kChunk, .limit = 20 * kChunk, .page_kinds = {dtutils::PageKind::kSmall}});
  SharedQueuePair qp;
  churn(seed, qp, [&](support::Random& random) -> std::optional<RDMAMemory> {
    if (!random.one_in(10)) return std::nullopt;
    try {
      return allocator.allocate(kChunk * (1 + random.below(4)));
    } catch (const dtutils::Error&) {
      return std::nullopt;
    }
  });
  qp.complete_all();
  CHECK(allocator.collect() == 0);
  CHECK(allocator.in_use() == 0);
  CHECK(allocator.invariant());
}

TEST_CASE("threads_never_share_a_piece_of_a_general_allocator") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  support::FakeDevice device;
  dtutils::ProtectionDomain pd(device);
  RDMAAllocator source(pd, {},
                       {.superpage = 32 * kChunk, .page_kinds = {dtutils::PageKind::kSmall}});
  dtutils::GeneralAllocator allocator(source, {.limit = 32 * kChunk});
  SharedQueuePair qp;
  churn(seed, qp, [&](support::Random& random) {
    return allocator.try_allocate(sizeof(std::uint64_t) + random.size_up_to(kChunk));
  });
  qp.complete_all();
  CHECK(allocator.collect() == 0);
  CHECK(allocator.in_use() == 0);
  CHECK(allocator.invariant());
  CHECK(source.in_use() == 0);
}

TEST_CASE("allocate_finds_a_chunk_that_another_thread_is_just_looking_at_in_quarantine") {
  constexpr int kRounds = 20'000;
  support::FakeDevice device;
  dtutils::ProtectionDomain pd(device);
  RDMAAllocator allocator(
      pd, {},
      {.superpage = 2 * kChunk, .limit = 2 * kChunk, .page_kinds = {dtutils::PageKind::kSmall}});
  // Two chunks, and two threads that hold one at a time: there always is one.
  support::Threads threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.start([&] {
      std::atomic<std::uint64_t> retired{0};
      for (std::uint64_t ticket = 0; ticket < kRounds; ++ticket) {
        {
          RDMAMemory memory = allocator.allocate();
          require(memory.retire_at({&retired, ticket}), "room for one tag");
        }
        retired.store(ticket + 1, std::memory_order_release);
      }
      allocator.collect();
    });
  }
  threads.join();
  CHECK(allocator.in_use() == 0);
}
