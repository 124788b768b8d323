// SPDX-License-Identifier: MIT
// poll_until: what it returns, and when.
#include "dtutils/poll_until.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "dtutils/unit/interrupter.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace std::chrono_literals;
using dtutils::poll_until;
using PollClock = std::chrono::steady_clock;

namespace {

class PollPipe {
 public:
  PollPipe() { support::require(pipe2(ends_.data(), O_CLOEXEC) == 0, "a pipe for the test"); }
  ~PollPipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  int out() const { return ends_[0]; }
  void fill() { support::require(write(ends_[1], "x", 1) == 1, "a byte for the pipe"); }

 private:
  std::array<int, 2> ends_{};
};

}  // namespace

TEST_CASE("poll_until_tells_an_event_at_once") {
  PollPipe pipe;
  pipe.fill();
  CHECK(poll_until(pipe.out(), POLLIN, PollClock::time_point::max()) == 1);
  PollPipe empty;
  std::array<pollfd, 2> both{{{empty.out(), POLLIN, 0}, {pipe.out(), POLLIN, 0}}};
  CHECK(poll_until(both, PollClock::time_point::max()) == 1);
  CHECK(both[0].revents == 0);
  CHECK(both[1].revents == POLLIN);
}

TEST_CASE("poll_until_looks_once_after_its_end") {
  PollPipe pipe;
  CHECK(poll_until(pipe.out(), POLLIN, PollClock::time_point::min()) == 0);
  CHECK(poll_until(pipe.out(), POLLIN, PollClock::now() - 1s) == 0);
  pipe.fill();
  CHECK(poll_until(pipe.out(), POLLIN, PollClock::time_point::min()) == 1);
}

TEST_CASE("poll_until_waits_until_its_end_whatever_signals_come") {
  PollPipe pipe;
  const auto end = PollClock::now() + 50ms;
  const support::Interrupter interrupter([] {});
  CHECK(poll_until(pipe.out(), POLLIN, end) == 0);
  CHECK(support::Interrupter::calls() != 0);
  CHECK(PollClock::now() >= end);
}

TEST_CASE("poll_until_tells_what_poll_refuses") {
  std::array<pollfd, 64> none;
  none.fill({-1, POLLIN, 0});
  CHECK(poll_until(none, PollClock::now()) == 0);
  // More descriptors than a process may have.
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{none.size() - 1, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  errno = 0;
  const int found = poll_until(none, PollClock::now());
  const int code = errno;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(found == -1);
  CHECK(code == EINVAL);
}
