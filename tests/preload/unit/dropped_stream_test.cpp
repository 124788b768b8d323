// SPDX-License-Identifier: MIT
// A stream that both sides made, and that one of them does not take.
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <utility>

#include "../support/tcp_pair.hpp"
#include "connection.hpp"
#include "kernel_socket.hpp"
#include "poll.hpp"
#include "support/catch.hpp"

using namespace preload;
using namespace support;

TEST_CASE("a_side_whose_peer_has_not_taken_its_stream_goes_on_with_tcp") {
  TcpPair pair;
  StreamPair streams = pair.make_streams();
  TcpPair::connection(pair.here)->carry(std::move(streams.here));
  CHECK(give(pair.here, 0, 100) == 100);
  take(pair.there, 0, 100);
  pollfd entry{pair.here, POLLIN, 0};
  CHECK(poll_until(&entry, 1, end_after(1), nullptr) == 0);
  CHECK(give(pair.there, 0, 10) == 10);
  wait_for_input(pair.here);
  take(pair.here, 0, 10);
  SECTION("and never does") {
    streams.there.reset();
    CHECK(poll_until(&entry, 1, end_after(1), nullptr) == 0);
    CHECK(peek(pair.here) == -EAGAIN);
    CHECK(give(pair.here, 100, 100) == 100);
    CHECK(bytes_written(pair.here) == 200);
    take(pair.there, 100, 100);
    CHECK(give(pair.there, 10, 10) == 10);
    take(pair.here, 10, 10);
  }
  SECTION("until it does") {
    TcpPair::connection(pair.there)->carry(std::move(streams.there));
    CHECK(poll_until(&entry, 1, end_after(1), nullptr) == 0);
    CHECK(peek(pair.here) == -EAGAIN);
    CHECK(give(pair.here, 100, 100) == 100);
    CHECK(bytes_written(pair.here) == 100);
    take(pair.there, 100, 100);
    CHECK(give(pair.there, 10, 10) == 10);
    CHECK(bytes_written(pair.there) == 10);
    take(pair.here, 10, 10);
  }
}
