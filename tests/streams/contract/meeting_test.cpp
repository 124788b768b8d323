// SPDX-License-Identifier: MIT
// Who may connect, under which names, and what becomes of strangers at the door.
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <filesystem>

#include "../support/pair.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"

using namespace streams;
using namespace support;
using std::chrono::milliseconds;

namespace {

/// A connection to the door of a listener, made by hand.
int knock(const std::string& name) {
  const std::string full = "cariama-streams/" + std::to_string(geteuid()) + "/" + name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, full.data(), full.size());
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + full.size());
  require(connect(fd, reinterpret_cast<sockaddr*>(&address), length) == 0, "the door is closed");
  return fd;
}

}  // namespace

TEST_CASE("a_name_has_one_listener") {
  Domain domain;
  const std::string name = fresh_name();
  Listener listener(domain.pd, name);
  CHECK_THROWS_AS(Listener(domain.pd, name), dtutils::Error);
  CHECK_THROWS_AS(Listener(domain.pd, ""), dtutils::Error);
  CHECK_THROWS_AS(Listener(domain.pd, std::string(81, 'x')), dtutils::Error);
}

TEST_CASE("connecting_without_a_listener_ends_with_an_error") {
  Domain domain;
  CHECK_THROWS_AS(connect(domain.pd, fresh_name(), milliseconds(20)), dtutils::Error);
}

TEST_CASE("a_listener_that_never_accepts_does_not_hold_who_connects") {
  Domain domain;
  const std::string name = fresh_name();
  Listener listener(domain.pd, name);
  CHECK_THROWS_AS(connect(domain.pd, name, milliseconds(50)), dtutils::Error);
}

TEST_CASE("accept_ends_when_nobody_connects") {
  Domain domain;
  Listener listener(domain.pd, fresh_name());
  CHECK(listener.accept(milliseconds(10)) == nullptr);
}

TEST_CASE("a_stranger_is_dropped_and_the_next_is_served") {
  Domain domain;
  const std::string name = fresh_name();
  Listener listener(domain.pd, name);
  Random random(test_seed());
  for (int i = 0; i < 20; ++i) {
    const int stranger = knock(name);
    // Noise of any length, the length of an introduction among them; or nothing at all.
    const std::size_t length = i == 0 ? 72 : random.below(200);
    std::vector<char> noise(length);
    for (char& byte : noise) byte = static_cast<char>(random.below(256));
    if (length != 0) send(stranger, noise.data(), length, MSG_NOSIGNAL);
    close(stranger);
  }
  Threads threads;
  std::unique_ptr<Stream> there;
  threads.start([&] { there = connect(domain.pd, name, kPatience); });
  const std::unique_ptr<Stream> here = listener.accept(kPatience);
  threads.join();
  REQUIRE(here != nullptr);
  CHECK(there->send(bytes_from(0, 10), kPatience).bytes == 10);
  std::byte into[10];
  CHECK(here->receive(into, kPatience).status == Status::kOk);
}

TEST_CASE("connects_and_closes_leave_no_descriptor_behind") {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  Domain domain;
  // What the device keeps for good, it has after the first one.
  { const StreamPair pair(domain.pd); }
  const auto before = descriptors();
  for (int i = 0; i < 100; ++i) {
    const StreamPair pair(domain.pd);
    REQUIRE(pair.here->send(bytes_from(0, 10), kPatience).bytes == 10);
  }
  CHECK(descriptors() == before);
}
