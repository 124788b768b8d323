// SPDX-License-Identifier: MIT
// What a fiber may wait for, when it goes on, and where its exceptions go.
#include <chrono>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dtutils/synchronizer.hpp"
#include "riutils/fiber_pool.hpp"
#include "riutils/support/fiber_job.hpp"
#include "support/catch.hpp"
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
            require(self.in_handler(), "it counts as a handler");
            SendChannel calls(self.fabric());
            require(calls.call(self.id(), [at = GlobalPtr(self.fabric(), &inner)](
                                              CallContext& call) { *at.get(call.fabric) = true; }),
                    "sent");
            for (int i = 0; i < 1000; ++i) self.progress();
            require(!inner, "nothing ran inside");
            checked = true;
          });
          require(checked, "it ran");
          require(!self.in_handler(), "the mark is gone");
          serve_until(self, [&] { return inner; });
        }) == "");
}

TEST_CASE("random_waits_of_many_fibers_all_end") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  CHECK(on_workers(1, [seed](Thread& self) {
          support::Random random(seed);
          FiberOptions options;
          options.max_fibers = 300;
          options.step = 7;
          FiberPool pool(self, options);
          std::deque<Synchronizer> words;
          std::vector<Synchronizer*> pending;
          std::uint64_t started = 0;
          std::uint64_t ended = 0;
          for (int step = 0; step < 20'000; ++step) {
            if (random.one_in(2) && pool.unfinished() < options.max_fibers) {
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
