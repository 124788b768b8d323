// SPDX-License-Identifier: MIT
// Streams over a socket that the caller has, and what is not the other side of one.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <optional>

#include "../support/pair.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/two_processes.hpp"

using namespace streams;
using namespace support;
using std::chrono::milliseconds;

namespace {

struct Sockets {
  int here = -1;
  int there = -1;
};

Sockets local_sockets() {
  std::array<int, 2> both;
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both.data()) == 0);
  return {both[0], both[1]};
}

Sockets tcp_sockets() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  REQUIRE(bind(listener, raw, length) == 0);
  REQUIRE(listen(listener, 1) == 0);
  REQUIRE(getsockname(listener, raw, &length) == 0);
  Sockets both;
  both.there = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(connect(both.there, raw, length) == 0);
  both.here = accept(listener, nullptr, nullptr);
  close(listener);
  return both;
}

void talk(Stream& here, Stream& there) {
  constexpr std::size_t kTalk = 20000;
  Threads threads;
  threads.start([&] {
    require(here.send(bytes_from(0, kTalk), kPatience).bytes == kTalk, "a send failed");
    here.finish_sending();
  });
  std::size_t received = 0;
  std::byte into[3000];
  for (;;) {
    const Result result = there.receive(into, kPatience);
    if (result.status == Status::kEnd) break;
    REQUIRE(result.status == Status::kOk);
    REQUIRE(are_from(received, std::span(into).first(result.bytes)));
    received += result.bytes;
  }
  threads.join();
  CHECK(received == kTalk);
}

/// The introduction of a queue pair that never existed.
std::array<std::byte, 80> introduction_of_nobody() {
  std::array<std::byte, 80> bytes{};
  bytes.fill(std::byte{0x11});
  return bytes;
}

}  // namespace

TEST_CASE("a_stream_is_made_over_a_socket_of_either_kind") {
  const bool tcp = GENERATE(false, true);
  const StreamOptions options = GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream);
  Domain domain;
  const Sockets sockets = tcp ? tcp_sockets() : local_sockets();
  std::unique_ptr<Stream> here;
  std::unique_ptr<Stream> there;
  Threads threads;
  threads.start([&] { there = connect_over(domain.pd, sockets.there, kPatience, options); });
  here = accept_over(domain.pd, sockets.here, kPatience);
  threads.join();
  talk(*here, *there);
  talk(*there, *here);
}

TEST_CASE("who_is_no_other_side_of_a_stream_is_told_from_one_in_time") {
  const int what = GENERATE(0, 1, 2, 3);
  const bool accepts = GENERATE(false, true);
  Domain domain;
  const Sockets sockets = tcp_sockets();
  const auto nobody = introduction_of_nobody();
  std::size_t said = 0;
  if (what == 1) said = 40;             // Half of what it should say, and then nothing.
  if (what == 2) said = nobody.size();  // Garbage.
  REQUIRE(send(sockets.there, nobody.data(), said, 0) == static_cast<ssize_t>(said));
  if (what == 3) close(sockets.there);
  dtutils::Deadline deadline(kPatience);
  const auto attempt = accepts ? accept_over : connect_over;
  CHECK_THROWS_AS(attempt(domain.pd, sockets.here, milliseconds(100), {}), dtutils::Error);
  CHECK_FALSE(deadline.passed());
  // The socket was taken over, and is closed.
  CHECK(fcntl(sockets.here, F_GETFD) == -1);
  if (what != 3) close(sockets.there);
}

TEST_CASE("a_peer_that_is_killed_resets_a_stream_over_a_socket") {
  const Sockets sockets = tcp_sockets();
  RemotePeer peer([&](Wire& wire) {
    close(sockets.here);
    Domain domain;
    const auto stream = connect_over(domain.pd, sockets.there, kPatience);
    wire.meet();
    wire.hear<int>();  // Until it is killed.
  });
  close(sockets.there);
  Domain domain;
  const auto stream = accept_over(domain.pd, sockets.here, kPatience);
  peer.wire().meet();
  peer.kill();
  std::byte into[8];
  CHECK(stream->receive(into, kPatience).status == Status::kReset);
}
