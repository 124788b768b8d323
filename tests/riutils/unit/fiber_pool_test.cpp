// SPDX-License-Identifier: MIT
// FiberPool on one thread: waiting, resuming, limits, exceptions, guard pages.
#include "riutils/fiber_pool.hpp"

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <fstream>
#include <stdexcept>
#include <string>

#include "dtutils/synchronizer.hpp"
#include "riutils/in_fiber.hpp"
#include "riutils/support/fiber_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/random.hpp"
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
          require(!FiberPool::inside(), "the thread itself is no fiber");
        }) == "");
}

TEST_CASE("waiting_fiber_is_resumed_by_progress_when_its_wait_is_over") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberPool pool(self);
          Synchronizer first(1);
          Synchronizer second(1);
          int stage = 0;
          (void)start(self, pool, [&] {
            stage = 1;
            require(first.wait() == Synchronizer::Outcome::kDone, "done");
            stage = 2;
            require(second.wait() == Synchronizer::Outcome::kFailed, "failed");
            stage = 3;
          });
          require_equal(stage, 1, "stage");
          require_equal(pool.unfinished(), 1u, "unfinished");
          for (int i = 0; i < 100; ++i) self.progress();
          require_equal(stage, 1, "stage while it waits");
          first.decrement();
          self.progress();
          require_equal(stage, 2, "stage");
          second.fail();
          self.progress();
          require_equal(stage, 3, "stage");
          require_equal(pool.unfinished(), 0u, "unfinished");
        }) == "");
}

TEST_CASE("wait_with_a_limit_ends_inside_a_fiber") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberPool pool(self);
          Synchronizer never(1);
          Synchronizer other(1);
          bool over = false;
          (void)start(self, pool, [&] { other.wait(); });
          const auto begin = std::chrono::steady_clock::now();
          (void)start(self, pool, [&] {
            const auto outcome = never.wait_for(std::chrono::milliseconds(30));
            require(outcome == Synchronizer::Outcome::kTimeout, "it is a time-out");
            over = true;
          });
          serve_until(self, [&] { return over; });
          const auto took = std::chrono::steady_clock::now() - begin;
          require(took >= std::chrono::milliseconds(30), "not before its time");
          require_equal(pool.unfinished(), 1u, "unfinished");
          other.decrement();
        }) == "");
}

TEST_CASE("thousands_of_fibers_wait_in_bounded_memory") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberOptions options;
          options.most = kMany;
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
                  }).find("FiberOptions::most") != std::string::npos,
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

TEST_CASE("exception_of_a_fiber_goes_where_an_inline_one_goes") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberPool pool(self);
          Synchronizer go(1);
          const auto text_of = [](auto&& call) -> std::string {
            try {
              call();
            } catch (const std::exception& error) {
              return error.what();
            }
            return "(none)";
          };
          require(text_of([&] {
                    (void)start(self, pool, [] { throw std::runtime_error("at once"); });
                  }) == "at once",
                  "before its first wait it leaves run()");
          (void)start(self, pool, [&go] {
            go.wait();
            throw std::runtime_error("later");
          });
          go.decrement();
          require(text_of([&] { self.progress(); }) == "later", "later it leaves progress()");
          int upcalls = 0;
          self.fabric().on_exception([&](const CallContext& call, std::exception_ptr) {
            upcalls += call.worker == &self;
          });
          Synchronizer again(1);
          (void)start(self, pool, [&again] {
            again.wait();
            throw 7;
          });
          again.decrement();
          self.progress();
          require_equal(upcalls, 1, "upcalls");
          require_equal(pool.unfinished(), 0u, "unfinished");
        }) == "");
}

TEST_CASE("fibers_may_wait_inside_catch_blocks") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberPool pool(self);
          constexpr std::uint32_t kFibers = 20;
          std::deque<Synchronizer> waits;
          std::uint32_t right = 0;
          for (std::uint32_t i = 0; i < kFibers; ++i) {
            Synchronizer& mine = waits.emplace_back(1);
            (void)start(self, pool, [&mine, &right, i] {
              try {
                throw i;
              } catch (const std::uint32_t& caught) {
                mine.wait();
                try {
                  throw;
                } catch (const std::uint32_t& again) {
                  right += again == i && caught == i;
                }
              }
            });
          }
          try {
            throw std::string("of the thread");
          } catch (const std::string& own) {
            for (std::uint32_t i = 0; i < kFibers; ++i) waits[i * 7 % kFibers].decrement();
            serve_until(self, [&] { return right == kFibers; });
            try {
              throw;
            } catch (const std::string& still) {
              require(still == own, "the thread's own exception is untouched");
            }
          }
          require_equal(std::uncaught_exceptions(), 0, "uncaught exceptions");
        }) == "");
}

TEST_CASE("wait_step_gives_the_thread_back_until_the_next_progress") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberPool pool(self);
          bool room = false;
          int looks = 0;
          (void)start(self, pool, [&] {
            while (!room) {
              ++looks;
              FiberPool::wait_step();
            }
          });
          require_equal(looks, 1, "looks");
          self.progress();
          require_equal(looks, 2, "looks");
          room = true;
          self.progress();
          require_equal(pool.unfinished(), 0u, "unfinished");
          FiberPool::wait_step();  // outside of fibers it is a step of progress
        }) == "");
}

TEST_CASE("fiber_runs_no_other_handler_on_its_stack") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberPool pool(self);
          bool checked = false;
          bool inner = false;
          (void)start(self, pool, [&] {
            require(self.in_dispatcher(), "it counts as a handler");
            SendChannel calls(self.fabric());
            require(calls.call(self.id(), [at = GlobalPtr(self.fabric(), &inner)](
                                              CallContext& call) { *at.get(call.fabric) = true; }),
                    "sent");
            for (int i = 0; i < 1000; ++i) self.progress();
            require(!inner, "nothing ran inside");
            checked = true;
          });
          require(checked, "it ran");
          require(!self.in_dispatcher(), "the mark is gone");
          serve_until(self, [&] { return inner; });
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

TEST_CASE("random_waits_of_many_fibers_all_end") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  CHECK(on_workers(1, [seed](Thread& self) {
          support::Random random(seed);
          FiberOptions options;
          options.most = 300;
          options.step = 7;
          FiberPool pool(self, options);
          std::deque<Synchronizer> words;
          std::vector<Synchronizer*> pending;
          std::uint64_t started = 0;
          std::uint64_t ended = 0;
          for (int step = 0; step < 20'000; ++step) {
            if (random.one_in(2) && pool.unfinished() < options.most) {
              Synchronizer& word = words.emplace_back(2);
              pending.push_back(&word);
              pending.push_back(&word);
              ++started;
              const bool yields = random.one_in(3);
              (void)start(self, pool, [&word, &ended, yields] {
                if (yields) FiberPool::wait_step();
                require(word.wait() == Synchronizer::Outcome::kDone, "done");
                if (yields) FiberPool::wait_step();
                ++ended;
              });
            } else if (!pending.empty()) {
              std::swap(pending[random.below(pending.size())], pending.back());
              pending.back()->decrement();
              pending.pop_back();
            }
            if (random.one_in(3)) self.progress();
          }
          for (Synchronizer* word : pending) word->decrement();
          serve_until(self, [&] { return ended == started; });
          require_equal(pool.unfinished(), 0u, "unfinished");
        }) == "");
}
