// SPDX-License-Identifier: MIT
// A side that ends after it has introduced itself: the other one is told, and goes on.
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "dtutils/device.hpp"
#include "dtutils/error.hpp"
#include "introduction.hpp"
#include "packetized.hpp"
#include "streams/listener.hpp"
#include "streams/support/door.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

using namespace streams;
using std::chrono::milliseconds;

namespace {

struct Opened {
  std::unique_ptr<dtutils::Device> device = dtutils::open_device("shm");
  dtutils::ProtectionDomain domain{*device};
};

/// Of a side whose device is closed by now.
Introduction of_one_that_left() {
  Opened gone;
  return Packetized(gone.domain, kRing).introduction();
}

std::string own_name(const char* test) { return std::string(test) + std::to_string(getpid()); }

}  // namespace

TEST_CASE("who_leaves_while_it_is_let_in_costs_the_listener_nothing") {
  Opened here;
  const std::string name = own_name("leaves_let_in");
  Listener listener(here.domain, name);
  const Introduction gone = of_one_that_left();
  const int visitor = support::knock(name);
  REQUIRE(send(visitor, &gone, sizeof gone, 0) == sizeof gone);
  CHECK(listener.accept(milliseconds(200)) == nullptr);
  close(visitor);
  std::unique_ptr<Stream> other;
  std::thread next([&] { other = connect(here.domain, name, milliseconds(10'000)); });
  CHECK(listener.accept(milliseconds(10'000)) != nullptr);
  next.join();
  CHECK(other != nullptr);
}

TEST_CASE("listener_that_leaves_while_it_accepts_is_an_error_of_connect") {
  Opened here;
  const std::string name = own_name("leaves_accepting");
  const support::DoorAddress address(name, geteuid());
  const int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(bind(door, address.raw(), address.length) == 0);
  REQUIRE(listen(door, 1) == 0);
  std::thread listener([&] {
    const Introduction gone = of_one_that_left();
    const int visitor = accept(door, nullptr, nullptr);
    Introduction peer;
    (void)recv(visitor, &peer, sizeof peer, MSG_WAITALL);
    (void)send(visitor, &gone, sizeof gone, MSG_NOSIGNAL);
    close(visitor);
  });
  const std::string text =
      support::error_text([&] { (void)connect(here.domain, name, milliseconds(10'000)); });
  listener.join();
  close(door);
  CHECK_THAT(text, support::contains("its device is closed"));
}
