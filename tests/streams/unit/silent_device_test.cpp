// SPDX-License-Identifier: MIT
// An other side that says all that it should over the socket, and nothing over the device.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>

#include "dtutils/device.hpp"
#include "dtutils/error.hpp"
#include "introduction.hpp"
#include "packetized.hpp"
#include "streams/over_socket.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

TEST_CASE("a_device_that_carries_nothing_is_found_before_there_is_a_stream") {
  const bool accepts = GENERATE(false, true);
  const auto device = dtutils::open_device("shm");
  dtutils::ProtectionDomain domain(*device);
  std::array<int, 2> sockets;
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  streams::Packetized silent(domain, streams::kRing);
  const streams::Introduction mine = silent.introduction();
  std::array<char, sizeof mine + 1> said;
  std::memcpy(said.data(), &mine, sizeof mine);
  said.back() = 'r';
  // The side that accepts says nothing more before it has a byte.
  const std::size_t size = accepts ? said.size() : sizeof mine;
  REQUIRE(send(sockets[1], said.data(), size, 0) == static_cast<ssize_t>(size));
  const auto attempt = accepts ? streams::accept_over : streams::connect_over;
  CHECK_THROWS_WITH(attempt(domain, sockets[0], std::chrono::milliseconds(50), {}),
                    support::contains("the device leads to no other side"));
  close(sockets[1]);
}
