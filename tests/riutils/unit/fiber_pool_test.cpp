// SPDX-License-Identifier: MIT
// FiberPool on one thread: how many fibers, on which stacks, and how a pool ends.
#include "riutils/fiber_pool.hpp"

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <fstream>
#include <string>
#include <thread>

#include "dtutils/synchronizer.hpp"
#include "riutils/support/fiber_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using dtutils::Synchronizer;
using riutils::FiberOptions;
using riutils::FiberPool;
using support::on_workers;
using support::require;
using support::require_equal;
using support::serve_until;
using support::start;

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
constexpr std::uint32_t kMany = 1000;  // ThreadSanitizer takes some 8000 threads and fibers
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
constexpr std::uint32_t kMany = 10'000;
#else
constexpr bool kSanitized = false;
constexpr std::uint32_t kMany = 10'000;
#endif

std::size_t resident_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * 4096;
}

}  // namespace

TEST_CASE("fiber_that_does_not_wait_ends_at_once") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberPool pool(self);
          int ran = 0;
          for (int i = 0; i < 1000; ++i) {
            const auto outcome = start(self, pool, [&ran, i] {
              require(FiberPool::inside(), "it is a fiber");
              require_equal(ran, i, "calls before");
              ++ran;
            });
            require(outcome == FiberPool::Outcome::kRun, "it runs");
          }
          require_equal(ran, 1000, "calls");
          require_equal(pool.unfinished(), 0u, "unfinished");
          require_equal(pool.made(), pool.options().step, "stacks");
          require(!FiberPool::inside(), "the thread itself is not a fiber");
        }) == "");
}

TEST_CASE("thousands_of_fibers_wait_in_bounded_memory") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberOptions options;
          options.max_fibers = kMany;
          FiberPool pool(self, options);
          std::deque<Synchronizer> waited;
          std::uint32_t ended = 0;
          const std::size_t before = resident_bytes();
          for (std::uint32_t i = 0; i < kMany; ++i) {
            Synchronizer& mine = waited.emplace_back(1);
            const auto outcome = start(self, pool, [&mine, &ended] {
              mine.wait();
              ++ended;
            });
            require(outcome == FiberPool::Outcome::kRun, "it waits");
          }
          require_equal(pool.unfinished(), kMany, "unfinished");
          // The page with the fiber and the first frames, and what the kernel needs beside it.
          const std::size_t each = (resident_bytes() - before) / kMany;
          require(kSanitized || each <= 3 * 4096, "bytes of a fiber: " + std::to_string(each));
          const auto full = start(self, pool, [] {});
          require(full == FiberPool::Outcome::kNoStack, "there is a limit");
          require(support::error_text([] {
                    FiberPool::throw_no_fiber();
                  }).find("FiberOptions::max_fibers") != std::string::npos,
                  "and it is named");
          // Backwards, and from the middle.
          for (std::uint32_t i = 0; i < kMany; ++i) {
            waited[(kMany / 2 + kMany - i) % kMany].decrement();
            if (i % 16 == 0) self.progress();
          }
          serve_until(self, [&] { return ended == kMany; });
          require_equal(pool.made(), kMany, "stacks");
          require(start(self, pool, [] {}) == FiberPool::Outcome::kRun, "stacks are free again");
        }) == "");
}

TEST_CASE("record_lies_on_the_stack_of_its_fiber") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberPool pool(self);
          struct Large {
            Synchronizer* wait;
            std::uint64_t* sum;
            std::array<std::uint64_t, 200> words;
            void operator()(CallContext& call) {
              const ThreadId source = call.source;
              wait->wait();
              for (const std::uint64_t word : words) *sum += word;
              require(call.source == source, "so does the context");
            }
          };
          Synchronizer go(1);
          std::uint64_t sum = 0;
          Large record{&go, &sum, {}};
          record.words.fill(1);
          {
            const HandlerScope scope(self.fabric());
            CallContext call{self.fabric(), ThreadId{{7}, 3}, &self};
            (void)pool.run(&dsfabric::detail::invoke<Large>, reinterpret_cast<std::byte*>(&record),
                           sizeof record, call);
            call.source = ThreadId{};
          }
          std::memset(static_cast<void*>(&record), 0xee, sizeof record);
          go.decrement();
          self.progress();
          require_equal(sum, 200u, "sum");
          std::vector<std::byte> huge(pool.options().stack_size);
          CallContext call{self.fabric(), self.id(), &self};
          require(pool.run([](std::byte*, std::uint32_t, CallContext&) {}, huge.data(),
                           std::uint32_t(huge.size()), call) == FiberPool::Outcome::kTooLarge,
                  "a record has a limit");
        }) == "");
}

TEST_CASE("pool_waits_for_its_fibers_when_it_goes") {
  CHECK(on_workers(1, [](Thread& self) {
          bool ended = false;
          Synchronizer go(1);
          std::thread later;
          {
            FiberPool pool(self);
            (void)start(self, pool, [&] {
              go.wait();
              ended = true;
            });
            later = std::thread([&] {
              std::this_thread::sleep_for(std::chrono::milliseconds(30));
              go.decrement();
            });
          }
          require(ended, "it has ended");
          later.join();
        }) == "");
}

TEST_CASE("fiber_that_never_ends_is_abandoned_after_the_time_limit") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberOptions options;
          options.drain_timeout = std::chrono::milliseconds(50);
          std::uint64_t* on_its_stack = nullptr;
          Synchronizer never(1);
          {
            FiberPool pool(self, options);
            (void)start(self, pool, [&] {
              std::uint64_t word = 42;
              on_its_stack = &word;
              never.wait();
            });
          }
          require_equal(*on_its_stack, 42u, "what others may still write to is there");
          *on_its_stack = 43;
          FiberPool next(self);
          (void)start(self, next, [] {});
        }) == "");
}

TEST_CASE("second_pool_of_a_thread_is_refused") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberPool pool(self);
          require(support::error_text([&] { FiberPool(self.fabric(), {}); }).find("one already") !=
                      std::string::npos,
                  "it says why");
          FiberOptions tiny;
          tiny.stack_size = 100;
          require(FiberPool::current() == &pool, "the first one stays");
          require(support::error_text([&] { FiberPool(self, tiny); }).find("16 KiB") !=
                      std::string::npos,
                  "options are checked");
        }) == "");
}

TEST_CASE("stack_overflow_ends_the_process_at_the_guard_page") {
  const std::string bad = on_workers(1, [](Thread& self) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    FiberPool pool(self);
    struct Deep {
      static std::uint64_t down(volatile std::byte* above, int levels) {
        volatile std::byte frame[512];
        frame[0] = above[0];
        return levels == 0 ? 0 : 1 + down(frame, levels - 1);
      }
    };
    volatile std::uint64_t levels = 0;
    (void)start(self, pool, [&] {
      volatile std::byte first[1] = {};
      levels = Deep::down(first, 1000);
    });
    require(false, "512000 bytes cannot fit");
  });
  // Sanitizers catch the signal, report it and exit.
  CHECK((bad == "0: signal " + std::to_string(SIGSEGV) + "\n" || (kSanitized && bad == "0: \n")));
}
