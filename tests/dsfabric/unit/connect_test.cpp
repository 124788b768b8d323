// SPDX-License-Identifier: MIT
// Finding the launcher where the name of its host stands for several addresses.
#include "bootstrap/connect.hpp"

#include <netinet/in.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "bootstrap/listener.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

using namespace dsfabric::rendezvous;
using namespace std::chrono_literals;
using support::contains;
using support::error_text;
using Clock = std::chrono::steady_clock;

namespace {

/// A port of 127.0.0.1 where nobody listens any more.
std::uint16_t closed_port() { return Listener("127.0.0.1", 0).port(); }

/// What getaddrinfo(3) would say of a host: ports of 127.0.0.1, in this order.
class Addresses {
 public:
  Addresses(std::uint16_t first, std::uint16_t second) {
    set(0, first);
    set(1, second);
    entries_[0].ai_next = &entries_[1];
  }
  const addrinfo& list() const noexcept { return entries_[0]; }

 private:
  void set(std::size_t i, std::uint16_t port) {
    places_[i].sin_family = AF_INET;
    places_[i].sin_port = htons(port);
    places_[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    entries_[i].ai_family = AF_INET;
    entries_[i].ai_addr = reinterpret_cast<sockaddr*>(&places_[i]);
    entries_[i].ai_addrlen = sizeof places_[i];
  }

  std::array<sockaddr_in, 2> places_{};
  std::array<addrinfo, 2> entries_{};
};

bool somebody_came(Listener& listener) {
  pollfd waiting{listener.fd(), POLLIN, 0};
  return poll(&waiting, 1, 5000) == 1;
}

}  // namespace

TEST_CASE("the_second_address_of_a_host_is_tried_when_the_first_refuses") {
  Listener listener("127.0.0.1", 0);
  const Addresses addresses(closed_port(), listener.port());
  const auto mailbox = connect_to_one_of("launcher:4711", addresses.list(), Clock::now() + 5s);
  CHECK(mailbox != nullptr);
  CHECK(somebody_came(listener));
}

TEST_CASE("the_first_address_of_a_host_that_answers_is_taken") {
  Listener listener("127.0.0.1", 0);
  Listener other("127.0.0.1", 0);
  const Addresses addresses(listener.port(), other.port());
  const auto mailbox = connect_to_one_of("launcher:4711", addresses.list(), Clock::now() + 5s);
  CHECK(somebody_came(listener));
  pollfd waiting{other.fd(), POLLIN, 0};
  CHECK(poll(&waiting, 1, 0) == 0);
}

TEST_CASE("a_host_none_of_whose_addresses_answers_is_named_with_the_last_error") {
  const Addresses addresses(closed_port(), closed_port());
  CHECK_THAT(error_text([&] {
               connect_to_one_of("launcher:4711", addresses.list(), Clock::now() + 50ms);
             }),
             contains("launcher:4711") && contains("any of the 2 addresses") &&
                 contains("127.0.0.1 is the last") && contains("Connection refused"));
}
