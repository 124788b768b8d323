// SPDX-License-Identifier: MIT
// FiberMutex among fibers of one thread, of several threads, and programs.
#include "riutils/fiber_mutex.hpp"

#include <mutex>
#include <stdexcept>
#include <vector>

#include "riutils/fiber_pool.hpp"
#include "riutils/support/fiber_job.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using riutils::FiberMutex;
using riutils::FiberPool;
using support::must_start;
using support::on_workers;
using support::require;
using support::require_equal;
using support::serve_until;

TEST_CASE("fibers_get_the_lock_in_their_order") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberPool pool(self);
          FiberMutex mutex;
          std::vector<int> order;
          mutex.lock();
          for (int i = 0; i < 10; ++i) {
            must_start(self, pool, [&mutex, &order, i] {
              const std::scoped_lock lock(mutex);
              order.push_back(i);
              FiberPool::wait_step();
              order.push_back(i);
            });
          }
          require(order.empty(), "all wait");
          require(!mutex.try_lock(), "it is held");
          mutex.unlock();
          serve_until(self, [&] { return order.size() == 20; });
          for (int i = 0; i < 20; ++i) require_equal(order[std::size_t(i)], i / 2, "who");
          require(mutex.try_lock(), "it is free");
          mutex.unlock();
        }) == "");
}

TEST_CASE("lock_excludes_fibers_and_programs_of_other_threads") {
  static FiberMutex mutex;
  static std::uint64_t counter = 0;
  static std::atomic<std::uint64_t> ended{0};
  CHECK(on_workers(3, [](Thread& self) {
          FiberPool pool(self);
          constexpr int kTurns = 500;
          for (int i = 0; i < kTurns; ++i) {
            must_start(self, pool, [] {
              const std::scoped_lock lock(mutex);
              const std::uint64_t seen = counter;
              FiberPool::wait_step();
              counter = seen + 1;
              ++ended;
            });
            if (i % 10 != 0) continue;
            const std::scoped_lock lock(mutex);
            ++counter;
            ++ended;
          }
          constexpr std::uint64_t kAll = 3 * (kTurns + kTurns / 10);
          serve_until(self, [&] { return ended == kAll; });
          const std::scoped_lock lock(mutex);
          require_equal(counter, kAll, "counted");
        }) == "");
}

TEST_CASE("program_that_leaves_its_wait_by_an_exception_does_not_hold_the_lock") {
  CHECK(on_workers(1, [](Thread& self) {
          FiberPool pool(self);
          FiberMutex mutex;
          mutex.lock();
          SendChannel calls(self.fabric());
          for (const bool granted : {false, true}) {
            require(
                calls.call(self.id(),
                           [there = GlobalPtr(self.fabric(), &mutex), granted](CallContext& call) {
                             if (granted) there.get(call.fabric)->unlock();
                             throw std::runtime_error("in the way");
                           }),
                "sent");
            bool thrown = false;
            try {
              mutex.lock();
            } catch (const std::runtime_error&) {
              thrown = true;
            }
            require(thrown, "the handler's exception leaves lock()");
          }
          require(mutex.try_lock(), "nobody holds it any more");
          mutex.unlock();
        }) == "");
}
