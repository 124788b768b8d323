// SPDX-License-Identifier: MIT
// Other users: they are refused before they are listened to, on either side.
#include <sys/socket.h>

#include "../support/door.hpp"
#include "../support/pair.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/two_processes.hpp"

using namespace streams;
using namespace support;
using std::chrono::milliseconds;

namespace {

constexpr uid_t kNobody = 65534;

bool may_change_user() {
  if (geteuid() == 0) return true;
  WARN("SKIPPED: only root may become another user");
  return false;
}

}  // namespace

TEST_CASE("who_is_of_another_user_is_not_listened_to") {
  if (!may_change_user()) return;
  const std::string name = fresh_name();
  const uid_t owner = geteuid();
  RemotePeer peer([&](Wire& wire) {
    require(setuid(kNobody) == 0, "cannot become another user");
    wire.meet();
    const int door = knock(name, owner);
    // A listener of the same user would wait here for the rest of the introduction.
    char byte = 0;
    require(recv(door, &byte, 1, 0) == 0, "the stranger was not dropped at once");
  });
  Domain domain;
  Listener listener(domain.pd, name);
  peer.wire().meet();
  const auto begin = std::chrono::steady_clock::now();
  CHECK(listener.accept(milliseconds(300)) == nullptr);
  CHECK(std::chrono::steady_clock::now() - begin < kIntroduction / 2);
  peer.join();
}

TEST_CASE("a_listener_of_another_user_is_told_nothing") {
  if (!may_change_user()) return;
  const std::string name = fresh_name();
  const uid_t victim = geteuid();
  RemotePeer peer([&](Wire& wire) {
    require(setuid(kNobody) == 0, "cannot become another user");
    const DoorAddress address(name, victim);
    const int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(bind(door, address.raw(), address.length) == 0 && listen(door, 4) == 0,
            "cannot listen under the other user's name");
    wire.meet();
    const int caught = accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
    char byte = 0;
    require(caught >= 0 && recv(caught, &byte, 1, 0) == 0, "the listener was told something");
  });
  Domain domain;
  peer.wire().meet();
  CHECK_THROWS_WITH(connect(domain.pd, name, kPatience), contains("belongs to another user"));
  peer.join();
}
