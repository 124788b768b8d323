// SPDX-License-Identifier: MIT
// The semaphore: counts, failure, time-outs, hooks, remote words, and its end right after a wait.
#include "dtutils/synchronizer.hpp"

#include <array>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>

#include "dtutils/wait.hpp"
#include "dtutils/wait_hook.hpp"
#include "support/catch.hpp"
#include "support/threads.hpp"

using dtutils::ScopedWaitHook;
using dtutils::Synchronizer;
using dtutils::WaitHook;
using Outcome = Synchronizer::Outcome;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("synchronizer_is_done_after_as_many_decrements_as_expected") {
  Synchronizer synchronizer(2);
  synchronizer.expect(1);
  for (std::uint32_t left = 3; left > 0; --left) {
    CHECK(synchronizer.pending() == left);
    CHECK_FALSE(synchronizer.done());
    CHECK_FALSE(synchronizer.outcome().has_value());
    synchronizer.decrement();
  }
  CHECK(synchronizer.done());
  CHECK(synchronizer.wait() == Outcome::kDone);
}

TEST_CASE("synchronizer_of_nothing_is_done") { CHECK(Synchronizer(0).wait() == Outcome::kDone); }

TEST_CASE("failure_counts_as_the_end_of_one_operation_and_is_remembered") {
  Synchronizer synchronizer(3);
  synchronizer.fail();
  CHECK(synchronizer.pending() == 2);
  CHECK_FALSE(synchronizer.done());
  synchronizer.decrement();
  synchronizer.fail();
  CHECK(synchronizer.failures() == 2);
  CHECK(synchronizer.wait() == Outcome::kFailed);
}

TEST_CASE("wait_for_gives_up_in_time") {
  Synchronizer synchronizer(1);
  CHECK(synchronizer.wait_for(milliseconds(3)) == Outcome::kTimeout);
  synchronizer.decrement();
  CHECK(synchronizer.wait_for(milliseconds(0)) == Outcome::kDone);
}

TEST_CASE("remote_words_do_what_local_calls_do") {
  alignas(Synchronizer) std::array<std::byte, sizeof(Synchronizer)> memory;
  auto* synchronizer = new (memory.data()) Synchronizer(3);
  auto& word = *reinterpret_cast<std::uint64_t*>(memory.data());
  __atomic_fetch_add(&word, Synchronizer::kRemoteDecrement, __ATOMIC_ACQ_REL);
  CHECK(synchronizer->pending() == 2);
  CHECK(synchronizer->failures() == 0);
  __atomic_fetch_add(&word, Synchronizer::kRemoteFailure, __ATOMIC_ACQ_REL);
  CHECK(synchronizer->pending() == 1);
  CHECK(synchronizer->failures() == 1);
  __atomic_fetch_add(&word, Synchronizer::kRemoteDecrement, __ATOMIC_ACQ_REL);
  CHECK(synchronizer->wait() == Outcome::kFailed);

  auto* single = new (memory.data()) Synchronizer(1);
  __atomic_store_n(&word, Synchronizer::kDoneWord, __ATOMIC_RELEASE);
  CHECK(single->wait() == Outcome::kDone);
}

TEST_CASE("wait_runs_the_hook_of_its_thread_and_tells_it_what_is_waited_on") {
  struct Context {
    Synchronizer synchronizer{3};
    const Synchronizer* told = nullptr;
  } context;
  const ScopedWaitHook hook({[](void* given, const Synchronizer& waited, dtutils::WaitEnd) {
                               auto& mine = *static_cast<Context*>(given);
                               mine.told = &waited;
                               mine.synchronizer.decrement();
                               return true;
                             },
                             &context});
  CHECK(context.synchronizer.wait_for(seconds(20)) == Outcome::kDone);
  CHECK(context.told == &context.synchronizer);
}

TEST_CASE("hook_is_told_when_the_wait_ends") {
  struct Told {
    dtutils::WaitEnd end{};
  } told;
  const ScopedWaitHook hook({[](void* given, const Synchronizer&, dtutils::WaitEnd end) {
                               static_cast<Told*>(given)->end = end;
                               return true;
                             },
                             &told});
  Synchronizer synchronizer(1);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(synchronizer.wait_for(std::chrono::milliseconds(20)) == Outcome::kTimeout);
  CHECK(told.end >= begin + std::chrono::milliseconds(20));
  CHECK(told.end <= std::chrono::steady_clock::now());
}

TEST_CASE("hooks_nest_and_belong_to_one_thread") {
  int outer_steps = 0;
  int inner_steps = 0;
  const auto count = [](void* steps, const Synchronizer&, dtutils::WaitEnd) {
    ++*static_cast<int*>(steps);
    return false;
  };
  const Synchronizer waited(1);
  {
    const ScopedWaitHook outer({count, &outer_steps});
    {
      const ScopedWaitHook inner({count, &inner_steps});
      dtutils::run_wait_hook(waited);
    }
    dtutils::run_wait_hook(waited);
    support::Threads other;
    other.start([&] { dtutils::run_wait_hook(waited); });
    other.join();
  }
  CHECK_FALSE(dtutils::run_wait_hook(waited));
  CHECK(outer_steps == 1);
  CHECK(inner_steps == 1);
}

TEST_CASE("wait_leaves_by_the_exception_of_its_hook") {
  const ScopedWaitHook hook({[](void*, const Synchronizer&, dtutils::WaitEnd) -> bool {
                               throw std::runtime_error("no more");
                             },
                             nullptr});
  Synchronizer synchronizer(1);
  CHECK_THROWS_AS(synchronizer.wait(), std::runtime_error);
}

TEST_CASE("waiter_sees_what_was_done_before_the_decrements") {
  for (int round = 0; round < 200; ++round) {
    Synchronizer synchronizer(2);
    int one = 0;
    int other = 0;
    support::Threads threads;
    threads.start([&] {
      one = 1;
      synchronizer.decrement();
    });
    threads.start([&] {
      other = 1;
      synchronizer.fail();
    });
    CHECK(synchronizer.wait_for(seconds(20)) == Outcome::kFailed);
    CHECK(one + other == 2);
    threads.join();
  }
}

TEST_CASE("synchronizer_may_be_destroyed_right_after_the_wait") {
  // What touches it after its last decrement is caught by the address and thread sanitizers.
  constexpr int kRounds = 20'000;
  std::array<std::atomic<Synchronizer*>, 2> handed{};
  support::Threads threads;
  for (auto& mine : handed) {
    threads.start([&mine, fails = &mine == &handed[1]] {
      for (int round = 0; round < kRounds; ++round) {
        dtutils::Deadline deadline{seconds(20)};
        Synchronizer* synchronizer = nullptr;
        while ((synchronizer = mine.exchange(nullptr, std::memory_order_acquire)) == nullptr) {
          if (deadline.passed()) throw std::runtime_error("nothing was handed over");
          std::this_thread::yield();
        }
        fails ? synchronizer->fail() : synchronizer->decrement();
      }
    });
  }
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto synchronizer = std::make_unique<Synchronizer>(2u);
    for (auto& mine : handed) mine.store(synchronizer.get(), std::memory_order_release);
    wrong += synchronizer->wait_for(seconds(20)) != Outcome::kFailed;
    synchronizer.reset();
  }
  threads.join();
  CHECK(wrong == 0);
}
