// SPDX-License-Identifier: MIT
// The rendezvous: who gets in, who is kept out, who is missed, and who has
// died.
#include "dsfabric/support/rendezvous.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <thread>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/proof.hpp"
#include "bootstrap/server.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/random.hpp"

using namespace dsfabric;
using namespace dsfabric::rendezvous;
using namespace std::chrono_literals;
using namespace support;

namespace {

using Clock = std::chrono::steady_clock;

/// Long on a machine that has other work, and shorter than what a stranger is
/// given for its hello.
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

TEST_CASE("all_gather_carries_more_than_one_frame_may_hold") {
  Rendezvous rendezvous(2);
  const auto a = rendezvous.join(0);
  const auto b = rendezvous.join(1);
  const Bytes large((kMaxFrame / 2) + 1000, std::byte{7});
  auto other = std::async(std::launch::async, [&] { return b->all_gather(large, 60s); });
  const auto all = a->all_gather(large, 60s);
  CHECK((all[0] == large && all[1] == large));
  CHECK(other.get() == all);
  CHECK_THAT(error_text([&] { a->all_gather(Bytes(kMaxFrame), 1s); }), contains("are more than"));
}

TEST_CASE("all_to_all_gives_each_what_the_others_have_for_it") {
  Rendezvous rendezvous(3);
  std::vector<std::unique_ptr<Bootstrap>> clients;
  for (std::uint32_t rank = 0; rank < 3; ++rank) clients.push_back(rendezvous.join(rank));
  for (int round = 0; round < 2; ++round) {
    std::vector<std::future<std::vector<Bytes>>> all;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      all.push_back(std::async(std::launch::async, [&, rank] {
        std::vector<Bytes> mine;
        for (int to = 0; to < 3; ++to) mine.push_back(bytes_of(fmt::format("{}>{}", rank, to)));
        return clients[rank]->all_to_all(mine, 5s);
      }));
    }
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const auto got = all[rank].get();
      REQUIRE(got.size() == 3);
      for (std::size_t from = 0; from < 3; ++from) {
        CHECK(got[from] == bytes_of(fmt::format("{}>{}", from, rank)));
      }
    }
  }
}

TEST_CASE("all_to_all_of_a_bootstrap_without_its_own_is_one_gather") {
  const auto alone = make_alone();
  const std::vector<Bytes> mine{bytes_of("me")};
  CHECK(alone->all_to_all(mine, 1s) == mine);
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

TEST_CASE("replayed_greeting_is_refused") {
  Rendezvous rendezvous(2);
  const Secret secret("secret");
  Connection first(rendezvous.stranger());
  const auto [greeting, hello] = greeting_of(first, 1, 2);
  REQUIRE(first.send(Type::kHello, hello));
  const Bytes welcome = next_frame(first, Type::kWelcome);
  Reader reader(welcome);
  CHECK((reader.u32() == 1u && reader.u32() == 2u && reader.u32() == 0u));
  const auto proof = reader.bytes();
  REQUIRE(proof);
  CHECK(secret.accepts(Side::kLauncher, greeting, *proof));

  Connection second(rendezvous.stranger());
  (void)next_frame(second, Type::kChallenge);
  REQUIRE(second.send(Type::kHello, hello));
  CHECK_THAT(Reader(next_frame(second, Type::kRefused)).text().value_or(""),
             contains("secret is wrong"));
}

TEST_CASE("process_of_another_protocol_is_told_both_versions") {
  Rendezvous rendezvous(1);
  Connection old(rendezvous.stranger());
  (void)next_frame(old, Type::kChallenge);
  REQUIRE(old.send(Type::kHello, Writer().u32(1).text("secret").u32(0).u32(1).text("").take()));
  CHECK_THAT(Reader(next_frame(old, Type::kRefused)).text().value_or(""),
             contains("protocol 1") && contains(fmt::format("the launcher {}", kProtocol)));
}

TEST_CASE("launcher_that_does_not_know_the_secret_is_found_out") {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  socklen_t length = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0);
  REQUIRE(listen(listener, 1) == 0);
  REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  const std::uint16_t port = ntohs(address.sin_port);
  auto text =
      std::async(std::launch::async, [&] { return error_text([&] { client_at(port, 0, 1); }); });
  Connection impostor(accept(listener, nullptr, nullptr));
  close(listener);
  REQUIRE(impostor.send(Type::kChallenge, Writer().u32(kProtocol).bytes(make_nonce()).take()));
  const Bytes hello = next_frame(impostor, Type::kHello);
  CHECK(std::string(reinterpret_cast<const char*>(hello.data()), hello.size()).find("secret") ==
        std::string::npos);
  REQUIRE(impostor.send(Type::kWelcome, Writer().u32(0).u32(1).u32(0).bytes(make_nonce()).take()));
  CHECK_THAT(text.get(), contains("does not know the job secret"));
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
  for (const auto begin = Clock::now(); busy.empty() && Clock::now() - begin < 10s;) {
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
