// SPDX-License-Identifier: MIT
// What threads that share one Transmitter reach together.
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "bench/dtutils/cases.hpp"
#include "bench/dtutils/writes.hpp"

namespace link_bench {
namespace {

constexpr std::uint32_t kPayload = 8;

// The threads take turns at the slots, so that they meet at the Transmitter and at no cache line of
// the payload.
void write_with_threads(Ends& ends, const Slots& slots, std::uint64_t posts, unsigned threads) {
  std::latch ready(threads);
  std::atomic<bool> broken{false};
  const auto work = [&](unsigned thread) {
    ready.arrive_and_wait();
    const auto slot_of = [=](std::uint64_t n) { return n * threads + thread; };
    if (!transmit(ends.link, ends.shared, slots, posts / threads, slot_of)) broken = true;
  };
  {
    std::vector<std::jthread> others;
    for (unsigned thread = 1; thread < threads; ++thread) {
      others.emplace_back([&, thread] {
        bench::pin_this_thread(ends.cores, static_cast<int>(thread));
        work(thread);
      });
    }
    work(0);
  }
  if (broken || !ends.shared.flush()) fail_transmitter(ends.shared);
}

bench::Variant with_threads(const char* name, const EndsPtr& ends, unsigned threads) {
  return writing(name, ends, Slots(kPayload), bench::Unit::kPerSecond,
                 [threads](Ends& own, const Slots& slots, std::uint64_t posts) {
                   write_with_threads(own, slots, posts, threads);
                 });
}

}  // namespace

void add_thread_cases(bench::Suite& suite, const EndsPtr& ends) {
  for (const unsigned threads : {1, 2, 4}) {
    suite.add(
        {.name = "threads_1_2_4_shared_qp",
         .size = threads,
         .unit = bench::Unit::kPerSecond,
         .variants = {with_threads("threads", ends, threads), with_threads("one_thread", ends, 1)},
         .ratios = {{.over = "threads",
                     .under = "one_thread",
                     .bar = threads == 4 ? ">= 0.5" : ""}},
         .oversubscribed = threads > 1});
  }
}

}  // namespace link_bench
