// SPDX-License-Identifier: MIT
// The rendezvous: who gets in, who is kept out, who is missed, and who has died.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <thread>

#include "bootstrap/environment.hpp"
#include "bootstrap/server.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/random.hpp"

using namespace dsfabric;
using namespace dsfabric::rendezvous;
using namespace std::chrono_literals;
using support::contains;
using support::error_text;

namespace {

using Clock = std::chrono::steady_clock;

/// A server with the poll loop that the launcher has.
class Rendezvous {
 public:
  explicit Rendezvous(std::uint32_t processes)
      : processes_(processes), server_(processes, "secret", "127.0.0.1", 0), loop_([this] {
          while (!stop_) turn();
        }) {}
  ~Rendezvous() {
    stop_ = true;
    loop_.join();
  }
  std::uint16_t port() const { return server_.port(); }
  /// The launcher saw this process end.
  void end(std::uint32_t rank, bool in_order) { ended_ = static_cast<int>(rank * 2 + in_order); }

  std::unique_ptr<Bootstrap> join(std::uint32_t rank, const std::string& secret = "secret",
                                  const std::string& build = "build", std::uint32_t size = 0) {
    setenv(kAddressVariable, fmt::format("127.0.0.1:{}", port()).c_str(), 1);
    setenv(kSecretVariable, secret.c_str(), 1);
    setenv(kRankVariable, std::to_string(rank).c_str(), 1);
    setenv(kSizeVariable, std::to_string(size != 0 ? size : processes_).c_str(), 1);
    BootstrapOptions options;
    options.start_timeout = 5s;
    options.build = build;
    auto client = make_rendezvous_client(options);
    unsetenv(kAddressVariable);
    return client;
  }
  int stranger() const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return fd;
  }

 private:
  void turn() {
    std::vector<pollfd> watched;
    server_.watch(watched);
    poll(watched.data(), watched.size(), 5);
    server_.handle(watched);
    if (const int ended = ended_.exchange(-1); ended >= 0) {
      server_.process_ended(static_cast<std::uint32_t>(ended / 2), ended % 2 != 0);
    }
  }

  std::uint32_t processes_;
  Server server_;
  std::atomic<bool> stop_{false};
  std::atomic<int> ended_{-1};
  std::thread loop_;
};

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Long on a machine that has other work, and shorter than what a stranger is given for its hello.
constexpr std::chrono::milliseconds kAtOnce = kHelloTime - 1s;

/// Whether the other side closes the connection within the time.
bool closed_within(int fd, std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  for (bool over = false; !over;) {
    over = Clock::now() >= end;  // and one more look
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, 20) <= 0) continue;
    char part[512];
    if (recv(fd, part, sizeof part, MSG_DONTWAIT) <= 0) return true;
  }
  return false;
}

std::optional<std::uint32_t> next_failed_within(Bootstrap& client,
                                                std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  for (bool over = false; !over;) {
    over = Clock::now() >= end;  // and one more look
    if (const auto rank = client.next_failed()) return rank;
    pollfd waiting{client.failure_fd(), POLLIN, 0};
    poll(&waiting, 1, 20);
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("all_gather_gives_everybody_everything_by_rank") {
  Rendezvous rendezvous(3);
  std::vector<std::unique_ptr<Bootstrap>> clients;
  for (std::uint32_t rank = 0; rank < 3; ++rank) clients.push_back(rendezvous.join(rank));
  for (int round = 0; round < 3; ++round) {
    std::vector<std::future<std::vector<Bytes>>> all;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      all.push_back(std::async(std::launch::async, [&, rank] {
        return clients[rank]->all_gather(bytes_of(fmt::format("{}.{}", round, rank)), 5s);
      }));
    }
    for (auto& each : all) {
      const auto gathered = each.get();
      REQUIRE(gathered.size() == 3);
      for (int rank = 0; rank < 3; ++rank) {
        CHECK(gathered[static_cast<std::size_t>(rank)] ==
              bytes_of(fmt::format("{}.{}", round, rank)));
      }
    }
  }
}

TEST_CASE("all_gather_carries_megabytes") {
  Rendezvous rendezvous(2);
  const auto a = rendezvous.join(0);
  const auto b = rendezvous.join(1);
  const Bytes large(std::size_t{3} << 20, std::byte{7});
  auto other = std::async(std::launch::async, [&] { return b->all_gather(large, 10s); });
  const auto all = a->all_gather(large, 10s);
  CHECK(all[0] == large);
  CHECK(all[1] == large);
  CHECK(other.get() == all);
}

TEST_CASE("wrong_secret_is_refused_and_costs_the_job_nothing") {
  Rendezvous rendezvous(1);
  CHECK_THAT(error_text([&] { rendezvous.join(0, "guess"); }), contains("secret is wrong"));
  CHECK_THAT(error_text([&] { rendezvous.join(0, ""); }), contains("secret is wrong"));
  CHECK(rendezvous.join(0)->all_gather({}, 5s).size() == 1);
}

TEST_CASE("wrong_count_rank_and_build_are_refused_with_what_differs") {
  Rendezvous rendezvous(2);
  CHECK_THAT(error_text([&] { rendezvous.join(0, "secret", "build", 3); }),
             contains("expects 3 processes, the job has 2"));
  CHECK_THAT(error_text([&] { rendezvous.join(2); }), contains("no rank 2"));
  const auto first = rendezvous.join(0, "secret", "version 1");
  CHECK_THAT(error_text([&] { rendezvous.join(0, "secret", "version 1"); }),
             contains("rank 0 has joined already"));
  CHECK_THAT(error_text([&] { rendezvous.join(1, "secret", "version 2"); }),
             contains("version 1") && contains("version 2"));
}

TEST_CASE("missing_rank_is_named") {
  Rendezvous rendezvous(4);
  const auto a = rendezvous.join(0);
  const auto c = rendezvous.join(2);
  std::atomic<bool> begun{false};
  auto other = std::async(std::launch::async, [&] {
    begun = true;
    return error_text([&] { c->all_gather({}, 2s); });
  });
  while (!begun) std::this_thread::yield();
  CHECK_THAT(error_text([&] { a->all_gather({}, 1s); }), contains("did not come in time: 1, 3"));
  CHECK_THAT(other.get(), contains("1, 3"));
}

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

TEST_CASE("silent_stranger_is_dropped_when_its_time_is_over") {
  Rendezvous rendezvous(1);
  const int fd = rendezvous.stranger();
  CHECK_FALSE(closed_within(fd, 500ms));
  CHECK(closed_within(fd, kHelloTime + 10s));
  close(fd);
}

TEST_CASE("death_is_told_once_and_goodbye_is_none") {
  Rendezvous rendezvous(3);
  const auto a = rendezvous.join(0);
  auto b = rendezvous.join(1);
  auto c = rendezvous.join(2);
  b->goodbye();
  b.reset();
  c.reset();  // no goodbye
  CHECK(next_failed_within(*a, 10s) == 2u);
  rendezvous.end(2, false);
  CHECK_FALSE(next_failed_within(*a, 200ms));
}

TEST_CASE("goodbye_just_before_the_end_is_no_failure") {
  for (int i = 0; i < 20; ++i) {
    Rendezvous rendezvous(2);
    const auto a = rendezvous.join(0);
    auto b = rendezvous.join(1);
    b->goodbye();
    b.reset();
    rendezvous.end(1, true);
    CHECK_FALSE(next_failed_within(*a, 50ms));
  }
}

TEST_CASE("process_that_dies_before_it_joins_fails_the_gather_at_once") {
  Rendezvous rendezvous(2);
  const auto a = rendezvous.join(0);
  auto gather =
      std::async(std::launch::async, [&] { return error_text([&] { a->all_gather({}, 20s); }); });
  std::this_thread::sleep_for(50ms);
  rendezvous.end(1, false);
  REQUIRE(gather.wait_for(5s) == std::future_status::ready);
  CHECK_THAT(gather.get(), contains("have ended: 1"));
}

TEST_CASE("end_of_the_launcher_is_told_as_the_rank_after_the_last") {
  auto rendezvous = std::make_unique<Rendezvous>(2);
  const auto a = rendezvous->join(0);
  rendezvous.reset();
  CHECK(next_failed_within(*a, 10s) == 2u);
  CHECK_THAT(error_text([&] { a->all_gather({}, 2s); }), contains("closed the connection"));
}

TEST_CASE("used_port_and_foreign_address_are_errors_that_say_so") {
  Server first(1, "secret", "127.0.0.1", 0);
  CHECK_THAT(error_text([&] { Server(1, "secret", "127.0.0.1", first.port()); }),
             contains("another program uses the port"));
  CHECK_THAT(error_text([&] { Server(1, "secret", "localhost", 0); }), contains("no IP address"));
  CHECK_THAT(error_text([&] { Server(1, "secret", "192.0.2.1", 0); }),
             contains("belongs to this machine"));
}

TEST_CASE("variables_that_make_no_sense_are_named") {
  Rendezvous rendezvous(1);
  const auto with = [&](const char* name, const char* value) {
    setenv(kAddressVariable, fmt::format("127.0.0.1:{}", rendezvous.port()).c_str(), 1);
    setenv(kSecretVariable, "secret", 1);
    setenv(kRankVariable, "0", 1);
    setenv(kSizeVariable, "1", 1);
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
    const std::string text = error_text([] { make_rendezvous_client({}); });
    unsetenv(kAddressVariable);
    return text;
  };
  CHECK_THAT(with(kRankVariable, "first"), contains("CARIAMA_RANK is \"first\""));
  CHECK_THAT(with(kSizeVariable, "-1"), contains("CARIAMA_SIZE is \"-1\""));
  CHECK_THAT(with(kSecretVariable, nullptr), contains("CARIAMA_SECRET is not"));
  CHECK_THAT(with(kAddressVariable, "nowhere"), contains("an address and a port"));
}

TEST_CASE("nobody_at_the_address_is_an_error_within_the_limit") {
  std::uint16_t port = 0;
  {
    Server gone(1, "secret", "127.0.0.1", 0);
    port = gone.port();
  }
  setenv(kAddressVariable, fmt::format("127.0.0.1:{}", port).c_str(), 1);
  setenv(kSecretVariable, "secret", 1);
  setenv(kRankVariable, "0", 1);
  setenv(kSizeVariable, "1", 1);
  BootstrapOptions options;
  options.start_timeout = 200ms;
  const auto begin = Clock::now();
  CHECK_THAT(error_text([&] { make_rendezvous_client(options); }), contains("no server answers"));
  CHECK(Clock::now() - begin < 10s);
  unsetenv(kAddressVariable);
}
