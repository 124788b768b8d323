// SPDX-License-Identifier: MIT
// The rendezvous: who gets in, who is missed, and who has died.
#include "dsfabric/support/rendezvous.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/server.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

using namespace dsfabric;
using namespace dsfabric::rendezvous;
using namespace std::chrono_literals;
using namespace support;
using Clock = std::chrono::steady_clock;

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
  CHECK_THAT(with(kAddressVariable, "nowhere"),
             contains("CARIAMA_RENDEZVOUS \"nowhere\": it has no port; write HOST:PORT"));
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
  CHECK_THAT(error_text([&] { make_rendezvous_client(options); }), contains("nobody answers"));
  CHECK(Clock::now() - begin < 10s);
  unsetenv(kAddressVariable);
}
