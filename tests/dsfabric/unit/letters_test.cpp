// SPDX-License-Identifier: MIT
// Letters: what one process sends to another through the launcher, also during a collective.
#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <future>
#include <thread>

#include "dsfabric/support/rendezvous.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

using namespace support;
using namespace std::chrono_literals;

namespace {

std::string letter_text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The next letter as "from: text"; "rank ended" when the end of a process comes before; empty when
/// there is none within the time.
std::string next_news_within(Bootstrap& client, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (bool over = false; !over;) {
    over = std::chrono::steady_clock::now() >= end;  // and one more look
    if (const auto letter = client.next_letter()) {
      return fmt::format("{}: {}", letter->from, letter_text(letter->bytes));
    }
    if (const auto rank = client.next_failed()) return fmt::format("{} ended", *rank);
    pollfd waiting{client.failure_fd(), POLLIN, 0};
    poll(&waiting, 1, 20);
  }
  return {};
}

}  // namespace

TEST_CASE("letters_of_one_process_arrive_once_in_order_and_say_who_sent_them") {
  Rendezvous rendezvous(3);
  const auto a = rendezvous.join(0);
  const auto b = rendezvous.join(1);
  const auto c = rendezvous.join(2);
  CHECK(a->relays());
  for (int i = 0; i < 100; ++i) a->send(2, bytes_of(fmt::format("letter {}", i)));
  for (int i = 0; i < 100; ++i) {
    REQUIRE(next_news_within(*c, 10s) == fmt::format("0: letter {}", i));
  }
  c->send(0, {});
  CHECK(next_news_within(*a, 10s) == "2: ");
  // To oneself, too.
  b->send(1, bytes_of("me"));
  CHECK(next_news_within(*b, 10s) == "1: me");
  CHECK(next_news_within(*c, 50ms).empty());
}

TEST_CASE("letter_to_all_reaches_all_others") {
  Rendezvous rendezvous(3);
  const auto a = rendezvous.join(0);
  const auto b = rendezvous.join(1);
  const auto c = rendezvous.join(2);
  b->send(3, bytes_of("all"));
  b->send(0, bytes_of("you"));
  CHECK(next_news_within(*a, 10s) == "1: all");
  CHECK(next_news_within(*a, 10s) == "1: you");
  CHECK(next_news_within(*c, 10s) == "1: all");
  CHECK(next_news_within(*b, 50ms).empty());
}

TEST_CASE("letters_come_and_go_while_another_thread_is_in_a_collective") {
  Rendezvous rendezvous(2);
  const auto a = rendezvous.join(0);
  const auto b = rendezvous.join(1);
  for (int round = 0; round < 20; ++round) {
    // `a` waits for `b`, which comes only when its question has been answered.
    auto gather = std::async(std::launch::async, [&] { return a->all_gather({}, 20s).size(); });
    b->send(0, bytes_of("question"));
    REQUIRE(next_news_within(*a, 10s) == "1: question");
    a->send(1, bytes_of("answer"));
    REQUIRE(next_news_within(*b, 10s) == "0: answer");
    CHECK(b->all_gather({}, 10s).size() == 2);
    CHECK(gather.get() == 2);
  }
}

TEST_CASE("many_letters_during_collectives_disturb_neither") {
  Rendezvous rendezvous(2);
  const auto a = rendezvous.join(0);
  const auto b = rendezvous.join(1);
  constexpr int kLetters = 2000;
  const auto write_and_read = [&](Bootstrap& self, std::uint32_t peer) {
    bool good = true;
    for (int i = 0; i < kLetters; ++i) self.send(peer, bytes_of(std::to_string(i)));
    for (int i = 0; i < kLetters && good; ++i) {
      good = next_news_within(self, 10s) == fmt::format("{}: {}", peer, i);
    }
    return good;
  };
  const auto gather = [&](Bootstrap& self) {
    bool good = true;
    const Bytes mine(10'000, std::byte{5});
    for (int i = 0; i < 50; ++i) good = good && self.all_gather(mine, 20s).at(1) == mine;
    return good;
  };
  auto letters_a = std::async(std::launch::async, [&] { return write_and_read(*a, 1); });
  auto letters_b = std::async(std::launch::async, [&] { return write_and_read(*b, 0); });
  auto gathers_a = std::async(std::launch::async, [&] { return gather(*a); });
  CHECK(gather(*b));
  CHECK(gathers_a.get());
  CHECK(letters_a.get());
  CHECK(letters_b.get());
}

TEST_CASE("letters_of_a_process_come_before_the_news_of_its_end") {
  for (int i = 0; i < 20; ++i) {
    Rendezvous rendezvous(2);
    const auto a = rendezvous.join(0);
    auto b = rendezvous.join(1);
    b->send(0, bytes_of("last words"));
    b.reset();
    REQUIRE(next_news_within(*a, 10s) == "1: last words");
    CHECK(next_news_within(*a, 10s) == "1 ended");
  }
}

TEST_CASE("letters_to_those_who_are_gone_are_lost_and_nobody_minds") {
  Rendezvous rendezvous(3);
  const auto a = rendezvous.join(0);
  auto b = rendezvous.join(1);
  b.reset();
  CHECK(next_news_within(*a, 10s) == "1 ended");
  a->send(1, bytes_of("are you there"));
  // This one has not even come.
  a->send(2, bytes_of("nor you"));
  a->send(0, bytes_of("myself"));
  CHECK(next_news_within(*a, 10s) == "0: myself");
}

TEST_CASE("letter_that_makes_no_sense_costs_its_sender_the_place") {
  for (const Bytes& letter : {Bytes{}, Writer().u32(0).take(), Writer().u32(3).bytes({}).take(),
                              Writer().u32(0).u32(1000).take()}) {
    Rendezvous rendezvous(2);
    const auto a = rendezvous.join(0);
    Connection bad(rendezvous.stranger());
    const auto [greeting, hello] = greeting_of(bad, 1, 2);
    REQUIRE(bad.send(Type::kHello, hello));
    (void)next_frame(bad, Type::kWelcome);
    REQUIRE(bad.send(Type::kLetter, letter));
    CHECK(next_news_within(*a, 10s) == "1 ended");
  }
}

TEST_CASE("process_that_reads_nothing_does_not_hold_up_the_letters_of_others") {
  Rendezvous rendezvous(3);
  const auto a = rendezvous.join(0);
  const auto b = rendezvous.join(1);
  const auto silent = rendezvous.join(2);
  const Bytes large(100'000, std::byte{1});
  for (int i = 0; i < 100; ++i) a->send(2, large);
  a->send(1, bytes_of("still"));
  // What the socket did not take goes out when its owner looks for news.
  const std::jthread looks([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) (void)next_news_within(*a, 20ms);
  });
  CHECK(next_news_within(*b, 10s) == "0: still");
  for (int i = 0; i < 100; ++i) REQUIRE(next_news_within(*silent, 10s).size() == large.size() + 3);
}
