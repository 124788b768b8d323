// SPDX-License-Identifier: MIT
// Both sides of a greeting prove that they know the secret of the job.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/proof.hpp"
#include "dsfabric/support/rendezvous.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

using namespace dsfabric;
using namespace dsfabric::rendezvous;
using namespace std::chrono_literals;
using namespace support;

TEST_CASE("wrong_secret_is_refused_and_costs_the_job_nothing") {
  Rendezvous rendezvous(1);
  CHECK_THAT(error_text([&] { rendezvous.join(0, "guess"); }), contains("secret is wrong"));
  CHECK_THAT(error_text([&] { rendezvous.join(0, ""); }), contains("secret is wrong"));
  CHECK(rendezvous.join(0)->all_gather({}, 5s).size() == 1);
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
  CHECK(secret.accepts(HandshakeRole::kResponder, greeting, *proof));

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
