// SPDX-License-Identifier: MIT
// What is known of a connection before it has its stream, or before it is one.
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../support/tcp_pair.hpp"
#include "epoll_set.hpp"
#include "support/catch.hpp"

using namespace preload;
using namespace support;

TEST_CASE("bytes_of_tcp_and_of_the_stream_behind_them_are_counted_together") {
  TcpPair pair;
  CHECK(give(pair.here, 0, 1000) == 1000);
  wait_for_input(pair.there);
  const auto unread = [&] { return TcpPair::connection(pair.there)->unread(pair.there); };
  CHECK(unread() == 1000);
  pair.carry();
  CHECK(unread() == 1000);
  CHECK(give(pair.here, 1000, 500) == 500);
  CHECK(unread() == 1500);
  take(pair.there, 0, 700);
  CHECK(unread() == 800);
  take(pair.there, 700, 700);
  CHECK(unread() == 100);
}

TEST_CASE("a_socket_that_was_registered_before_it_connected_tells_of_its_stream") {
  TcpPair pair;
  leave(pair.here);
  const int set = epoll_create1(EPOLL_CLOEXEC);
  enter_epoll_set(set);
  EpollSet* const epoll = table().lock<EpollSet>(set).entry;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  REQUIRE(epoll->control(set, EPOLL_CTL_ADD, pair.here, &event) == 0);
  // The number may be another one's by then: the kernel forgets a descriptor that is closed.
  const bool same = GENERATE(true, false);
  if (!same) REQUIRE(epoll_ctl(set, EPOLL_CTL_DEL, pair.here, nullptr) == 0);
  enter_connection(pair.here, true);
  const bool sleeps = GENERATE(false, true);
  support::Threads threads;
  epoll_event found{};
  int count = -1;
  const auto wait = [&] {
    count = epoll->wait(set, &found, 1, end_after(same ? 10'000 : 100), nullptr);
  };
  if (sleeps) threads.start(wait);
  if (sleeps) usleep(20'000);
  pair.carry();
  CHECK(give(pair.there, 0, 100) == 100);
  if (sleeps) threads.join();
  if (!sleeps) wait();
  CHECK(count == (same ? 1 : 0));
  leave(set);
  close(set);
}
