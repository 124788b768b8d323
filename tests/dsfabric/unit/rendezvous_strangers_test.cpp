// SPDX-License-Identifier: MIT
// Strangers at the rendezvous: none of them keeps a process out.
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/server.hpp"
#include "dsfabric/support/rendezvous.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/random.hpp"

using namespace dsfabric;
using namespace dsfabric::rendezvous;
using namespace std::chrono_literals;
using namespace support;

namespace {

/// Long on a machine that has other work, and shorter than what a stranger is
/// given for its hello.
constexpr std::chrono::milliseconds kAtOnce = kHelloTime - 1s;

/// Whether the other side closes the connection within the time.
bool closed_within(int fd, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (bool over = false; !over;) {
    over = std::chrono::steady_clock::now() >= end;  // and one more look
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, 20) <= 0) continue;
    char part[512];
    if (recv(fd, part, sizeof part, MSG_DONTWAIT) <= 0) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("garbage_of_any_kind_is_dropped_and_the_job_goes_on") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  Rendezvous rendezvous(1);
  for (int i = 0; i < 50; ++i) {
    const int fd = rendezvous.stranger();
    std::vector<std::uint8_t> garbage(1 + random() % 3000);
    for (auto& byte : garbage) byte = static_cast<std::uint8_t>(random());
    if (i % 2 == 0 && garbage.size() > 5) {  // a frame that looks right from outside
      const std::uint32_t length = static_cast<std::uint32_t>(garbage.size() - 5);
      std::memcpy(garbage.data(), &length, 4);
      garbage[4] = static_cast<std::uint8_t>(i % 4 == 0 ? 1 : random());
    }
    [[maybe_unused]] const ssize_t put = send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    CHECK(closed_within(fd, kAtOnce));
    close(fd);
  }
  CHECK(rendezvous.join(0)->all_gather({}, 5s).size() == 1);
}

TEST_CASE("oversized_greeting_is_dropped_at_once") {
  Rendezvous rendezvous(1);
  const int fd = rendezvous.stranger();
  const std::uint8_t head[5] = {0, 0, 0, 0x40, 1};
  REQUIRE(send(fd, head, sizeof head, MSG_NOSIGNAL) == sizeof head);
  CHECK(closed_within(fd, kAtOnce));
  close(fd);
}

TEST_CASE("frame_that_claims_4_gib_is_dropped_at_once") {
  Rendezvous rendezvous(1);
  const int fd = rendezvous.stranger();
  const std::uint8_t head[5] = {0xff, 0xff, 0xff, 0xff, 1};
  REQUIRE(send(fd, head, sizeof head, MSG_NOSIGNAL) == sizeof head);
  CHECK(closed_within(fd, kAtOnce));
  close(fd);
}

TEST_CASE("silent_stranger_and_half_a_greeting_are_dropped_when_their_time_is_over") {
  Rendezvous rendezvous(1);
  const int silent = rendezvous.stranger();
  const int half = rendezvous.stranger();
  const std::uint8_t head[8] = {100, 0, 0, 0, 1, 2, 0, 0};
  REQUIRE(send(half, head, sizeof head, MSG_NOSIGNAL) == sizeof head);
  CHECK_FALSE(closed_within(silent, 500ms));
  CHECK_FALSE(closed_within(half, 100ms));
  CHECK(closed_within(silent, kHelloTime + 10s));
  CHECK(closed_within(half, kHelloTime));
  close(silent);
  close(half);
}

TEST_CASE("five_hundred_strangers_at_once_do_not_keep_a_process_out") {
  Rendezvous rendezvous(2);
  const auto first = rendezvous.join(0);
  std::vector<int> strangers;
  for (int i = 0; i < 500; ++i) strangers.push_back(rendezvous.stranger());
  const auto second = rendezvous.join(1);
  CHECK(rendezvous.most_strangers() <= kStrangers + 2);
  for (const int fd : strangers) close(fd);
  auto other = std::async(std::launch::async, [&] { return second->all_gather({}, 10s); });
  CHECK(first->all_gather({}, 10s).size() == 2);
  CHECK(other.get().size() == 2);
}

TEST_CASE("launcher_without_descriptors_says_so_and_does_not_spin") {
  // In a process of its own, which reports its port, and at its end how often
  // its poll woke up.
  int ports[2];
  int turns[2];
  int end[2];
  REQUIRE((pipe(ports) == 0 && pipe(turns) == 0 && pipe(end) == 0));
  const pid_t launcher = fork();
  REQUIRE(launcher >= 0);
  if (launcher == 0) {
    const rlimit few{64, 64};
    setrlimit(RLIMIT_NOFILE, &few);
    close(end[1]);
    Server server(1, "secret", "127.0.0.1", 0);
    const std::uint16_t port = server.port();
    std::uint64_t count = 0;
    bool going = write(ports[1], &port, sizeof port) == sizeof port;
    for (; going; ++count) {
      std::vector<pollfd> watched{{end[0], POLLIN, 0}};
      server.watch(watched);
      poll(watched.data(), watched.size(), 100);
      going = watched[0].revents == 0;
      server.handle(watched);
    }
    _exit(write(turns[1], &count, sizeof count) == sizeof count ? 0 : 1);
  }
  std::uint16_t port = 0;
  REQUIRE(read(ports[0], &port, sizeof port) == sizeof port);
  std::vector<int> strangers;
  for (int i = 0; i < 200; ++i) strangers.push_back(stranger_at(port));
  // Those that are there longest make room after a while; the newcomers stay,
  // until there are only such as have just come.
  std::vector<std::unique_ptr<Connection>> late;
  std::string busy;
  for (const auto begin = std::chrono::steady_clock::now();
       busy.empty() && std::chrono::steady_clock::now() - begin < 10s;) {
    late.push_back(std::make_unique<Connection>(stranger_at(port)));
    const auto frame = next_of(*late.back());
    if (frame && frame->type == Type::kBusy) busy = Reader(frame->body).text().value_or("");
  }
  CHECK_THAT(busy, contains("no descriptors left"));
  std::this_thread::sleep_for(300ms);
  // For one who knows the secret, too.
  CHECK(client_at(port, 0, 1)->all_gather({}, 10s).size() == 1);
  close(end[1]);
  std::uint64_t count = 0;
  CHECK(read(turns[0], &count, sizeof count) == sizeof count);
  CHECK(count < 5000);
  int status = 0;
  CHECK(waitpid(launcher, &status, 0) == launcher);
  CHECK(status == 0);
  for (const int fd : strangers) close(fd);
  for (const int fd : {ports[0], ports[1], turns[0], turns[1], end[0]}) close(fd);
}
