// SPDX-License-Identifier: MIT
// The rendezvous that a process of the job runs in a thread.
#include "bootstrap/rendezvous_thread.hpp"

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "dsfabric/support/rendezvous.hpp"
#include "support/catch.hpp"

using namespace support;
using namespace std::chrono_literals;

namespace {

std::unique_ptr<Bootstrap> join(const RendezvousThread& rendezvous, std::uint32_t rank) {
  return client_at(rendezvous.port(), rank, 2);
}

/// Calls `act`, and says whether wait_for_all() has returned before and afterwards.
template <class Act>
std::pair<bool, bool> waits_until(RendezvousThread& rendezvous, Act act) {
  std::atomic<bool> returned{false};
  std::thread waiter([&] {
    rendezvous.wait_for_all();
    returned = true;
  });
  std::this_thread::sleep_for(100ms);
  const bool before = returned;
  act();
  waiter.join();
  return {before, returned};
}

}  // namespace

TEST_CASE("rendezvous_thread_carries_letters_and_waits_for_all") {
  RendezvousThread rendezvous(2, "secret", "127.0.0.1");
  auto a = join(rendezvous, 0);
  auto b = join(rendezvous, 1);
  a->send(1, bytes_of("hello"));
  std::optional<Bootstrap::Letter> letter;
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!letter && std::chrono::steady_clock::now() < end) letter = b->next_letter();
  REQUIRE(letter);
  CHECK(letter->from == 0);
  CHECK(letter->bytes == bytes_of("hello"));
  a->goodbye();
  a.reset();
  CHECK(waits_until(rendezvous, [&] { b->goodbye(); }) == std::pair(false, true));
  CHECK_FALSE(next_failed_within(*b, 50ms));
}

TEST_CASE("rendezvous_thread_tells_of_ends_that_others_have_seen_unless_they_were_in_order") {
  RendezvousThread rendezvous(2, "secret", "127.0.0.1");
  const auto a = join(rendezvous, 0);
  const auto b = join(rendezvous, 1);
  SECTION("a failure") {
    rendezvous.tell_of_end(1);
    CHECK(next_failed_within(*a, 10s) == 1u);
  }
  SECTION("after its goodbye") {
    b->goodbye();
    rendezvous.tell_of_end(1);
    CHECK_FALSE(next_failed_within(*a, 100ms));
  }
}

TEST_CASE("end_of_a_rendezvous_thread_is_told_and_frees_its_port") {
  auto rendezvous = std::make_unique<RendezvousThread>(2, "secret", "127.0.0.1");
  const auto a = join(*rendezvous, 0);
  const int stranger = stranger_at(rendezvous->port());
  rendezvous.reset();
  CHECK(next_failed_within(*a, 10s) == 2u);
  char byte;
  while (recv(stranger, &byte, 1, 0) > 0) {
  }
  close(stranger);
}
