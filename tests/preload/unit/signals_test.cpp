// SPDX-License-Identifier: MIT
// Handlers run when nothing holds them off, once for each signal, and with what it tells.
#include "signals.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "support/catch.hpp"

namespace {

/// What handlers were called with, in order.
std::array<std::atomic<int>, 8> caught_values;
std::atomic<std::size_t> caught_count;

void note_number(int number) { caught_values[caught_count.fetch_add(1)] = number; }
void note_value(int, siginfo_t* info, void*) { note_number(info->si_value.sival_int); }

std::vector<int> caught() {
  return {caught_values.begin(), caught_values.begin() + caught_count.load()};
}

/// A handler of the program as long as it lives.
class Handler {
 public:
  Handler(int signal, void (*handler)(int, siginfo_t*, void*)) : signal_(signal) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    REQUIRE(preload::set_action(signal, &action, &before_) == 0);
    caught_count = 0;
  }
  Handler(int signal, int flags) : signal_(signal) {
    struct sigaction action {};
    action.sa_handler = note_number;
    action.sa_flags = flags;
    REQUIRE(preload::set_action(signal, &action, &before_) == 0);
    caught_count = 0;
  }
  ~Handler() { preload::set_action(signal_, &before_, nullptr); }

 private:
  int signal_;
  struct sigaction before_ {};
};

bool is_blocked(int signal) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return sigismember(&now, signal) == 1;
}

}  // namespace

TEST_CASE("a_handler_waits_until_the_last_hold_ends") {
  const Handler handler(SIGUSR1, 0);
  raise(SIGUSR1);
  CHECK(caught() == std::vector{SIGUSR1});
  {
    const preload::HoldSignals outer;
    {
      const preload::HoldSignals inner;
      raise(SIGUSR1);
    }
    CHECK(caught().size() == 1);
    preload::take_signals();
    CHECK(caught().size() == 2);
    raise(SIGUSR1);
    CHECK(caught().size() == 2);
  }
  CHECK(caught().size() == 3);
  CHECK(!is_blocked(SIGUSR1));
}

TEST_CASE("queued_signals_come_whole_and_in_order_after_a_lock") {
#if defined(__SANITIZE_THREAD__)
  WARN("SKIPPED: the thread sanitizer keeps signals back itself");
  return;
#endif
  const int queued = SIGRTMIN + 3;
  const Handler handler(queued, note_value);
  {
    preload::Mutex mutex;
    const std::scoped_lock lock(mutex);
    for (int value = 1; value <= 3; ++value) sigqueue(getpid(), queued, {.sival_int = value});
    CHECK(caught().empty());
  }
  CHECK(caught() == std::vector{1, 2, 3});
}

TEST_CASE("a_handler_that_resets_is_reset_when_it_runs_and_not_before") {
  const Handler handler(SIGCHLD, static_cast<int>(SA_RESETHAND));
  struct sigaction now {};
  REQUIRE(preload::set_action(SIGCHLD, nullptr, &now) == 0);
  CHECK(now.sa_handler == note_number);
  CHECK((now.sa_flags & static_cast<int>(SA_RESETHAND)) != 0);
  CHECK((now.sa_flags & SA_SIGINFO) == 0);
  {
    const preload::HoldSignals hold;
    raise(SIGCHLD);
    CHECK(caught().empty());
  }
  raise(SIGCHLD);
  CHECK(caught() == std::vector{SIGCHLD});
  REQUIRE(preload::set_action(SIGCHLD, nullptr, &now) == 0);
  CHECK(now.sa_handler == SIG_DFL);
}

TEST_CASE("a_sleep_lets_through_what_its_mask_does_and_the_handler_runs_behind_it") {
  const Handler handler(SIGUSR2, 0);
  sigset_t one;
  sigset_t none;
  sigemptyset(&none);
  sigemptyset(&one);
  sigaddset(&one, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &one, nullptr);
  raise(SIGUSR2);
  {
    const preload::SleepWithSignals sleep(&none);
    const timespec limit{5, 0};
    CHECK(ppoll(nullptr, 0, &limit, sleep.mask()) == -1);
    CHECK(caught().empty());
  }
  CHECK(caught() == std::vector{SIGUSR2});
  CHECK(is_blocked(SIGUSR2));
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}
