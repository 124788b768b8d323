// SPDX-License-Identifier: MIT
// A peer that is gone, on a device that tells nothing of it, and a side that never sleeps.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "credits.hpp"
#include "dtutils/device.hpp"
#include "dtutils/simulation.hpp"
#include "packetized.hpp"
#include "support/catch.hpp"
#include "zero_copy.hpp"

using namespace streams;

namespace {

/// Looks in vain, among which there is one at the socket.
constexpr int kLooks = 200;

template <class Flow, class... Options>
void lose_a_peer(const Options&... options) {
  const auto device = dtutils::open_device("sim");
  dtutils::ProtectionDomain domain(*device);
  Flow here(domain, options...);
  Flow there(domain, options...);
  here.meet(there.introduction());
  there.meet(here.introduction());
  std::array<int, 2> sockets;
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  here.link().keep(sockets[0]);
  std::byte byte;
  const iovec buffer{&byte, 1};
  for (int look = 0; look < kLooks; ++look) {
    REQUIRE(here.receive({&buffer, 1}).status == Status::kWouldBlock);
  }
  close(sockets[1]);
  // Time of the kernel, which is none of the simulated nodes.
  std::this_thread::sleep_for(kLookForPeer);
  Status status = Status::kWouldBlock;
  for (int look = 0; look < kLooks && status == Status::kWouldBlock; ++look) {
    status = here.receive({&buffer, 1}).status;
  }
  CHECK(status == Status::kReset);
  CHECK(here.send({&buffer, 1}).status == Status::kBrokenPipe);
}

}  // namespace

TEST_CASE("who_looks_in_vain_learns_from_the_socket_that_the_peer_is_gone") {
  dtutils::Simulation simulation;
  simulation.start(0, [] {
    lose_a_peer<Packetized>(kRing);
    lose_a_peer<Credits>();
    lose_a_peer<ZeroCopy>(StreamOptions{.flow = FlowControl::kZeroCopy});
  });
  CHECK(simulation.run().error == "");
}
