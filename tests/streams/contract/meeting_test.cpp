// SPDX-License-Identifier: MIT
// Who may connect, under which names, and what becomes of strangers at the door.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <csignal>
#include <filesystem>

#include "../support/door.hpp"
#include "../support/pair.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"

using namespace streams;
using namespace support;
using std::chrono::milliseconds;

namespace {}  // namespace

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

TEST_CASE("a_full_queue_of_the_listener_is_told_as_such") {
  Domain domain;
  const std::string name = fresh_name();
  Listener listener(domain.pd, name);
  std::vector<int> waiting;
  for (int fd; (fd = try_knock(name)) >= 0;) waiting.push_back(fd);
  CHECK_THROWS_WITH(connect(domain.pd, name, milliseconds(20)),
                    contains("no room for more connections"));
  for (const int fd : waiting) close(fd);
}

TEST_CASE("signals_do_not_end_a_connect_or_an_accept") {
  Domain domain;
  const std::string name = fresh_name();
  struct sigaction old {};
  struct sigaction ignore {};
  ignore.sa_handler = [](int) {};
  REQUIRE(sigaction(SIGALRM, &ignore, &old) == 0);
  const itimerval often{{0, 500}, {0, 500}};
  const itimerval never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  for (int i = 0; i < 20; ++i) {
    Listener listener(domain.pd, name);
    std::unique_ptr<Stream> there;
    Threads threads;
    threads.start([&] { there = connect(domain.pd, name, kPatience); });
    CHECK(listener.accept(kPatience) != nullptr);
    threads.join();
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &old, nullptr);
}

TEST_CASE("a_listener_whose_descriptor_is_closed_says_so") {
  Domain domain;
  Listener listener(domain.pd, fresh_name());
  // What closes all descriptors of a program puts another file there.
  const int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(dup2(other, listener.descriptor()) == listener.descriptor());
  close(other);
  CHECK_THROWS_WITH(listener.accept(kPatience), contains("no connection can be accepted"));
}

TEST_CASE("who_listens_is_known_without_connecting") {
  Domain domain;
  const std::string name = fresh_name();
  CHECK_FALSE(is_listening(name));
  {
    Listener listener(domain.pd, name);
    CHECK(is_listening(name));
    CHECK(listener.accept(milliseconds(1)) == nullptr);
  }
  CHECK_FALSE(is_listening(name));
  CHECK_FALSE(is_listening(""));
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
