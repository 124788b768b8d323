// SPDX-License-Identifier: MIT
// The socket over which two sides meet: who is there, and how long it may take.
#include "meeting.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "support/catch.hpp"

using namespace streams;
using std::chrono::milliseconds;

namespace {

std::array<int, 2> socket_pair() {
  std::array<int, 2> fds{-1, -1};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()) == 0);
  return fds;
}

}  // namespace

TEST_CASE("a_meeting_knows_who_the_other_one_is") {
  const auto [here, there] = socket_pair();
  const Meeting meeting(here, Meeting::Clock::now());
  CHECK(meeting.is_user(geteuid()));
  CHECK_FALSE(meeting.is_user(geteuid() + 1));
  close(there);
}

TEST_CASE("a_value_may_come_in_parts") {
  const auto [here, there] = socket_pair();
  Meeting meeting(here, Meeting::Clock::now() + milliseconds(5000));
  CHECK(send(there, "abcd", 4, 0) == 4);
  CHECK(send(there, "efgh", 4, 0) == 4);
  std::array<char, 8> heard{};
  CHECK(meeting.hear(heard));
  CHECK(heard == std::array{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'});
  CHECK(send(there, "end", 3, 0) == 3);
  close(there);
  CHECK_FALSE(meeting.hear(heard));
}

TEST_CASE("a_meeting_ends_with_its_time_however_many_steps_there_are") {
  const auto [here, there] = socket_pair();
  const auto begin = Meeting::Clock::now();
  Meeting meeting(here, begin + milliseconds(50));
  int heard = 0;
  for (int step = 0; step < 5; ++step) CHECK_FALSE(meeting.hear(heard));
  CHECK(Meeting::Clock::now() - begin >= milliseconds(50));
  CHECK(Meeting::Clock::now() - begin < milliseconds(250));
  close(there);
}
