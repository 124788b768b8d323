// SPDX-License-Identifier: MIT
// A TCP connection inside of one process that goes over to a stream, and back.
#include "connection.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "../support/tcp_pair.hpp"
#include "descriptors.hpp"
#include "epoll_set.hpp"
#include "kernel_socket.hpp"
#include "poll.hpp"
#include "support/catch.hpp"
#include "transfer.hpp"

using namespace preload;
using namespace support;

TEST_CASE("bytes_of_tcp_come_before_those_of_the_stream") {
  TcpPair pair;
  CHECK(give(pair.here, 0, 1000) == 1000);
  pair.carry();
  CHECK(give(pair.here, 1000, 500) == 500);
  CHECK(bytes_written(pair.here) == 1000);
  SECTION("in one receive") { take(pair.there, 0, 1500); }
  SECTION("in several, of which some are of both") {
    for (std::size_t place = 0; place < 1500; place += 300) take(pair.there, place, 300);
  }
  SECTION("when some had been received before") {
    take(pair.there, 0, 1);
    take(pair.there, 1, 1499);
  }
  CHECK(peek(pair.there) == -EAGAIN);
  CHECK(give(pair.there, 0, 7) == 7);
  take(pair.here, 0, 7);
}

TEST_CASE("the_end_comes_after_the_bytes_of_the_stream") {
  TcpPair pair;
  pair.carry();
  CHECK(give(pair.here, 0, 100) == 100);
  SECTION("of one half") {
    table().lock<Connection>(pair.here)->shut_down(pair.here, SHUT_WR);
    CHECK(give(pair.here, 100, 1) == 0);
    CHECK(errno == EPIPE);
  }
  SECTION("of both") { TcpPair::finish(pair.here); }
  take(pair.there, 0, 100);
  wait_for_input(pair.there);
  CHECK(peek(pair.there) == 0);
}

TEST_CASE("a_close_with_bytes_unread_resets") {
  TcpPair pair;
  pair.carry();
  CHECK(give(pair.here, 0, 100) == 100);
  take(pair.there, 0, 10);
  TcpPair::finish(pair.there);
  wait_for_input(pair.here);
  CHECK(peek(pair.here) == -ECONNRESET);
}

TEST_CASE("bytes_over_tcp_do_not_overtake_an_open_stream") {
  TcpPair pair;
  pair.carry();
  CHECK(give(pair.here, 0, 10) == 10);
  take(pair.there, 0, 10);
  REQUIRE(::send(pair.here, "stray", 5, 0) == 5);
  CHECK(peek(pair.there) == -EAGAIN);
  CHECK(give(pair.here, 10, 10) == 10);
  take(pair.there, 10, 10);
}

TEST_CASE("who_has_shut_down_receives_what_came_and_the_end") {
  TcpPair pair;
  pair.carry();
  CHECK(give(pair.here, 0, 10) == 10);
  take(pair.there, 0, 5);
  table().lock<Connection>(pair.there)->shut_down(pair.there, SHUT_RD);
  take(pair.there, 5, 5);
  CHECK(peek(pair.there) == 0);
}

TEST_CASE("poll_and_epoll_say_what_the_stream_has") {
  TcpPair pair;
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  enter_epoll_set(epoll);
  const bool edge = GENERATE(false, true);
  const bool carried_before = GENERATE(false, true);
  if (carried_before) pair.carry();
  const auto set = [&] { return table().lock<EpollSet>(epoll).entry; };
  epoll_event event{};
  event.events = EPOLLIN | (edge ? EPOLLET : 0u);
  event.data.u64 = 0xdead'beef'0000'0001;
  CHECK(table().lock<EpollSet>(epoll)->control(epoll, EPOLL_CTL_ADD, pair.there, &event) == 0);
  if (!carried_before) pair.carry();
  const auto wait = [&](int milliseconds) {
    std::array<epoll_event, 8> events;
    const int count = set()->wait(epoll, events.data(), 8, end_after(milliseconds), nullptr);
    for (int i = 0; i < count; ++i) {
      CHECK(events[static_cast<std::size_t>(i)].data.u64 == event.data.u64);
    }
    return count;
  };
  CHECK(wait(1) == 0);
  for (std::size_t place = 0; place < 1000; place += 100) {
    CHECK(give(pair.here, place, 100) == 100);
    CHECK(wait(10'000) == 1);
    // An edge is reported once, a level while it holds.
    CHECK(wait(0) == (edge ? 0 : 1));
    pollfd entry{pair.there, POLLIN | POLLOUT, 0};
    CHECK(poll_until(&entry, 1, end_after(10'000), nullptr) == 1);
    CHECK(entry.revents == (POLLIN | POLLOUT));
    take(pair.there, place, 100);
    CHECK(wait(0) == 0);
  }
  // Taken out and put in again, as many programs do for each answer.
  CHECK(table().lock<EpollSet>(epoll)->control(epoll, EPOLL_CTL_ADD, pair.there, &event) == EEXIST);
  CHECK(table().lock<EpollSet>(epoll)->control(epoll, EPOLL_CTL_DEL, pair.there, nullptr) == 0);
  CHECK(table().lock<EpollSet>(epoll)->control(epoll, EPOLL_CTL_DEL, pair.there, nullptr) ==
        ENOENT);
  CHECK(give(pair.here, 1000, 1) == 1);
  CHECK(wait(1) == 0);
  CHECK(table().lock<EpollSet>(epoll)->control(epoll, EPOLL_CTL_ADD, pair.there, &event) == 0);
  CHECK(wait(10'000) == 1);
  // The end, after the last byte.
  TcpPair::finish(pair.here);
  CHECK(wait(10'000) == 1);
  take(pair.there, 1000, 1);
  wait_for_input(pair.there);
  CHECK(peek(pair.there) == 0);
  leave(epoll);
  close(epoll);
}

TEST_CASE("a_thread_that_sleeps_on_tcp_is_woken_by_the_stream") {
  TcpPair pair;
  support::Threads threads;
  threads.start([&] {
    std::vector<std::byte> bytes(10);
    const iovec part{bytes.data(), bytes.size()};
    support::require(receive(pair.there, std::span(&part, 1), MSG_WAITALL) == 10, "lost bytes");
    support::require(support::are_from(0, bytes), "other bytes");
  });
  pair.carry();
  CHECK(give(pair.here, 0, 10) == 10);
  threads.join();
}

TEST_CASE("two_threads_of_a_connection_wake_each_other") {
  constexpr std::size_t kBytes = 1 << 20;
  TcpPair pair;
  pair.carry();
  support::Threads threads;
  // An echo at one side; at the other one a thread that sends, and one that receives.
  threads.start([&] {
    std::vector<std::byte> bytes(3000);
    for (std::size_t done = 0; done < kBytes;) {
      const iovec part{bytes.data(), bytes.size()};
      const ssize_t got = receive(pair.there, std::span(&part, 1), 0);
      support::require(got > 0, "a receive failed");
      const iovec back{bytes.data(), static_cast<std::size_t>(got)};
      support::require(preload::send(pair.there, std::span(&back, 1), 0) == got, "a send failed");
      done += static_cast<std::size_t>(got);
    }
  });
  threads.start(
      [&] { support::require(give(pair.here, 0, kBytes, 0) == kBytes, "a send ended early"); });
  std::vector<std::byte> bytes(kBytes);
  const iovec part{bytes.data(), bytes.size()};
  CHECK(receive(pair.here, std::span(&part, 1), MSG_WAITALL) == static_cast<ssize_t>(kBytes));
  threads.join();
  CHECK(support::are_from(0, bytes));
}

TEST_CASE("who_receives_long_pieces_gets_a_larger_ring") {
  TcpPair pair;
  const auto connection = table().lock<Connection>(pair.here);
  CHECK(connection->ring() == streams::kRing);
  for (int i = 0; i < 10; ++i) connection->count_receive(500);
  CHECK(connection->ring() == streams::kRing);
  // What it sends is for the ring of the other side.
  for (int i = 0; i < 10; ++i) connection->count_transfer();
  connection->count_receive(60'000);
  CHECK(connection->ring() > streams::kRing);
  connection->begin(true);
  CHECK(connection->ring() == streams::kRing);
}

TEST_CASE("space_wakes_who_slept_for_bytes_before") {
  TcpPair pair;
  pair.carry();
  CHECK(give(pair.here, 0, 1) == 1);
  take(pair.there, 0, 1);
  const int set = epoll_create1(0);
  enter_epoll_set(set);
  EpollSet* const epoll = table().lock<EpollSet>(set).entry;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  const bool by_epoll = GENERATE(false, true);
  if (by_epoll) REQUIRE(epoll->control(set, EPOLL_CTL_ADD, pair.here, &event) == 0);
  enum class Until : std::uint8_t { kRefused, kPart, kFull };
  const auto until = GENERATE(Until::kRefused, Until::kPart, Until::kFull);
  // As in the kernel, a send that was taken whole makes no edge.
  if (by_epoll && until == Until::kFull) return;
  std::size_t sent = 1;
  for (int round = 0; round < 20; ++round) {
    pollfd entry{pair.here, POLLIN, 0};
    epoll_event found{};
    // Sleeps while there is space, and nothing to receive.
    if (by_epoll) {
      while (epoll->wait(set, &found, 1, end_after(3), nullptr) != 0) {
      }
    } else {
      REQUIRE(poll_until(&entry, 1, end_after(3), nullptr) == 0);
    }
    const std::size_t begin = sent;
    if (until == Until::kRefused) {
      while (const std::size_t more = give(pair.here, sent, 1000)) sent += more;
    } else if (until == Until::kPart) {
      sent += give(pair.here, sent, std::size_t{2} * streams::kGrownRing);
    } else {
      const std::size_t space = TcpPair::connection(pair.here)->stream()->writable();
      CHECK(give(pair.here, sent, space) == space);
      sent += space;
    }
    support::Threads threads;
    threads.start([&] { take(pair.there, begin, sent - begin); });
    entry.events = POLLOUT;
    if (by_epoll) {
      REQUIRE(epoll->wait(set, &found, 1, end_after(10'000), nullptr) == 1);
    } else {
      REQUIRE(poll_until(&entry, 1, end_after(10'000), nullptr) == 1);
    }
    threads.join();
  }
  leave(set);
  close(set);
}
