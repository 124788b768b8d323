// SPDX-License-Identifier: MIT
// A simulated thread takes time from its scheduler, waits by it and starts threads through it.
#include "dtutils/scheduler.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "dtutils/joinable_thread.hpp"
#include "dtutils/mutex.hpp"
#include "dtutils/synchronizer.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"

using dtutils::Clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// Time passes only where a thread waits; each wait leaves a letter.
class Counting final : public dtutils::Scheduler {
 public:
  /// The calling thread is simulated as long as it lives.
  Counting() { adopt_this_thread(this); }
  ~Counting() override { adopt_this_thread(nullptr); }

  Time now() noexcept override { return time; }
  void pause() noexcept override {
    time += nanoseconds(100);
    ++pauses;
    if (in_pause) in_pause();
  }
  void got_on() noexcept override { ++finds; }
  void sleep_for(nanoseconds how_long) noexcept override { time += how_long; }
  int wait_for_events(pollfd* descriptors, nfds_t count, milliseconds timeout) noexcept override {
    waits += "w";
    const int ready = ::poll(descriptors, count, 0);
    if (ready == 0) time += timeout;
    return ready;
  }
  void signaled() noexcept override { waits += "s"; }
  unsigned cores() const noexcept override { return 77; }
  ThreadNumber announce() override { return waits += "a", 5; }
  void withdraw(ThreadNumber) noexcept override { waits += "-"; }
  void begin(ThreadNumber) noexcept override {
    adopt_this_thread(this);
    begun = true;
  }
  void end(ThreadNumber) noexcept override { adopt_this_thread(nullptr); }
  void wait_for_end(ThreadNumber thread) noexcept override { waits += std::to_string(thread); }

  Time time{};
  int pauses = 0;
  int finds = 0;
  std::function<void()> in_pause;
  std::string waits;
  std::atomic<bool> begun{false};
};

}  // namespace

TEST_CASE("time_of_a_simulated_thread_passes_only_where_it_waits") {
  Counting scheduler;
  CHECK(Clock::now() == Clock::time_point{});
  dtutils::sleep_for(std::chrono::hours(5));
  CHECK(Clock::now() == Clock::time_point{} + std::chrono::hours(5));
  dtutils::Deadline deadline(milliseconds(1));
  dtutils::Backoff backoff;
  while (!deadline.passed()) backoff.pause();
  CHECK(Clock::now() - Clock::time_point{} - std::chrono::hours(5) >= milliseconds(1));
  CHECK(scheduler.pauses >= 10'000);
}

TEST_CASE("synchronizer_of_a_simulated_thread_times_out_in_virtual_time") {
  Counting scheduler;
  dtutils::Synchronizer never(1);
  CHECK(never.wait_for(milliseconds(2)) == dtutils::Synchronizer::Outcome::kTimeout);
  CHECK(Clock::now() >= Clock::time_point{} + milliseconds(2));
}

TEST_CASE("each_way_to_wait_goes_through_the_scheduler") {
  Counting scheduler;
  const int before = scheduler.pauses;
  dtutils::cpu_pause();
  dtutils::give_way();
  dtutils::found_nothing();
  dtutils::Backoff().pause();
  CHECK(scheduler.pauses == before + 4);

  const int fd = eventfd(0, EFD_NONBLOCK);
  pollfd watched[] = {{fd, POLLIN, 0}};
  CHECK(dtutils::wait_for_events(watched, milliseconds(7)) == 0);
  eventfd_write(fd, 1);
  dtutils::signaled_descriptor();
  CHECK(dtutils::wait_for_events(watched, milliseconds(7)) == 1);
  CHECK(scheduler.waits == "wsw");
  CHECK(Clock::now() >= Clock::time_point{} + milliseconds(7));
  close(fd);
}

TEST_CASE("scheduler_hears_of_what_is_found") {
  Counting scheduler;
  dtutils::found_something();
  dtutils::Backoff().reset();
  CHECK(scheduler.finds == 2);
}

TEST_CASE("thread_of_a_simulated_thread_is_simulated") {
  Counting scheduler;
  scheduler.sleep_for(milliseconds(3));
  Clock::time_point seen{};
  unsigned cores = 0;
  dtutils::JoinableThread thread([&] {
    seen = Clock::now();
    cores = dtutils::cores();
  });
  CHECK(thread.joinable());
  thread.join();
  CHECK(seen == Clock::time_point{} + milliseconds(3));
  CHECK(cores == 77);
  CHECK(scheduler.waits == "a5");
}

TEST_CASE("simulated_thread_lets_others_run_while_a_mutex_is_taken") {
  Counting scheduler;
  dtutils::Mutex mutex;
  mutex.lock();
  CHECK_FALSE(mutex.try_lock());
  // What another thread would do, which gets its turn in the pause.
  scheduler.in_pause = [&] { mutex.unlock(); };
  mutex.lock();
  CHECK(scheduler.pauses == 1);
  scheduler.in_pause = nullptr;
  mutex.unlock();
}

TEST_CASE("other_threads_of_the_process_stay_with_the_machine") {
  Counting scheduler;
  dtutils::Scheduler* of_other = &scheduler;
  unsigned cores = 0;
  Clock::time_point seen{};
  std::thread other([&] {
    of_other = dtutils::simulated_by();
    cores = dtutils::cores();
    seen = Clock::now();
    dtutils::give_way();
    dtutils::sleep_for(nanoseconds(1));
    dtutils::JoinableThread([] {}).join();
  });
  other.join();
  CHECK(of_other == nullptr);
  CHECK(cores == std::max(std::thread::hardware_concurrency(), 1u));
  CHECK(seen != Clock::time_point{});
  CHECK(scheduler.waits.empty());
  CHECK(scheduler.pauses == 0);
}

TEST_CASE("joinable_thread_outside_of_simulations_is_a_thread") {
  dtutils::JoinableThread none;
  CHECK_FALSE(none.joinable());
  std::atomic<int> ran{0};
  dtutils::JoinableThread thread([&] { ran = 1; });
  thread.join();
  CHECK_FALSE(thread.joinable());
  CHECK(ran == 1);
  dtutils::Mutex mutex;
  mutex.lock();
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
}
