// SPDX-License-Identifier: MIT
// The rendezvous of an elastic job: who may come later, and the one order of what happens.
#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dsfabric/elastic_job.hpp"
#include "dsfabric/support/rendezvous.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/random.hpp"

using namespace support;
using namespace std::chrono_literals;

namespace {

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string line_of(const JobEvent& event) {
  constexpr const char* kNames[] = {"?", "joined", "left", "failed"};
  return fmt::format("{} {} {}", event.process, kNames[static_cast<int>(event.kind)],
                     text_of(event.bytes));
}

/// What comes next, event or letter, as a line; empty when nothing does within the time.
std::string next_line(Bootstrap& client, std::chrono::milliseconds limit = 10s) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (bool over = false; !over;) {
    over = std::chrono::steady_clock::now() >= end;  // and one more look
    if (const auto event = client.elastic()->next_event()) return line_of(*event);
    if (const auto letter = client.next_letter()) {
      return fmt::format("letter of {}: {}", letter->from, text_of(letter->bytes));
    }
    pollfd waiting{client.failure_fd(), POLLIN, 0};
    poll(&waiting, 1, 20);
  }
  return {};
}

std::vector<std::string> next_lines(Bootstrap& client, std::size_t count) {
  std::vector<std::string> lines;
  while (lines.size() < count) {
    lines.push_back(next_line(client));
    if (lines.back().empty()) break;
  }
  return lines;
}

void introduce(Bootstrap& client) {
  client.elastic()->introduce(bytes_of(fmt::format("I am {}", client.rank())));
}

/// A job whose founders have introduced themselves, in the order of their ranks.
struct Begun {
  explicit Begun(std::uint32_t processes, std::uint32_t capacity)
      : rendezvous(processes, capacity) {
    for (std::uint32_t rank = 0; rank < processes; ++rank) {
      members.push_back(rendezvous.join(rank));
      REQUIRE(members.back()->elastic() != nullptr);
      introduce(*members.back());
      for (const auto& each : members) {
        REQUIRE(next_lines(*each, each == members.back() ? rank + 1 : 1).back() ==
                fmt::format("{0} joined I am {0}", rank));
      }
    }
  }
  std::unique_ptr<Bootstrap> newcomer(const std::string& build = "build") {
    return rendezvous.join(kNewcomer, "secret", build);
  }

  Rendezvous rendezvous;
  std::vector<std::unique_ptr<Bootstrap>> members;
};

}  // namespace

TEST_CASE("newcomer_gets_the_next_number_and_hears_of_all_from_the_beginning") {
  Begun job(2, 4);
  const auto third = job.newcomer();
  CHECK(third->rank() == 2);
  CHECK(third->size() == 2);
  CHECK(third->elastic()->capacity() == 4);
  CHECK(next_lines(*third, 2) == std::vector<std::string>{"0 joined I am 0", "1 joined I am 1"});
  CHECK(next_line(*job.members[0], 50ms).empty());
  introduce(*third);
  for (Bootstrap* each : {job.members[0].get(), job.members[1].get(), third.get()}) {
    CHECK(next_line(*each) == "2 joined I am 2");
  }
  // Letters find it, and it finds others.
  job.members[0]->send(2, bytes_of("welcome"));
  CHECK(next_line(*third) == "letter of 0: welcome");
  third->send(4, bytes_of("thanks"));
  CHECK(next_line(*job.members[0]) == "letter of 2: thanks");
  CHECK(next_line(*job.members[1]) == "letter of 2: thanks");
}

TEST_CASE("numbers_are_never_given_twice_and_a_full_job_takes_nobody_in") {
  Begun job(1, 3);
  {
    const auto unknown = job.newcomer();
    CHECK(unknown->rank() == 1);
    // It ends before anybody has heard of it.
  }
  auto known = job.newcomer();
  CHECK(known->rank() == 2);
  introduce(*known);
  CHECK(next_line(*job.members[0]) == "2 joined I am 2");
  known->goodbye();
  known.reset();
  CHECK(next_line(*job.members[0]) == "2 left ");
  CHECK_THAT(error_text([&] { job.newcomer(); }),
             contains("the job is full") && contains("for 3 processes"));
  CHECK(next_line(*job.members[0], 50ms).empty());
}

TEST_CASE("newcomers_with_another_secret_build_or_protocol_are_refused_in_words") {
  Begun job(1, 3);
  CHECK_THAT(error_text([&] { job.rendezvous.join(kNewcomer, "guess"); }),
             contains("secret is wrong"));
  CHECK_THAT(error_text([&] { job.newcomer("another build"); }),
             contains("builds differ") && contains("another build"));
  Connection old(job.rendezvous.stranger());
  (void)next_frame(old, Type::kChallenge);
  REQUIRE(old.send(Type::kHello, Writer().u32(3).u32(kNewcomer).take()));
  CHECK_THAT(Reader(next_frame(old, Type::kRefused)).text().value_or(""),
             contains("protocol 3") && contains(fmt::format("the launcher {}", kProtocol)));
  CHECK(job.newcomer()->rank() == 1);
}

TEST_CASE("number_that_is_taken_or_a_newcomers_is_refused") {
  Begun job(2, 4);
  CHECK_THAT(error_text([&] { job.rendezvous.join(1); }), contains("rank 1 has joined already"));
  CHECK_THAT(error_text([&] { job.rendezvous.join(2); }), contains("no rank 2"));
}

TEST_CASE("job_of_fixed_processes_takes_no_newcomers") {
  Rendezvous rendezvous(1);
  CHECK_THAT(error_text([&] { rendezvous.join(kNewcomer); }), contains("takes no newcomers"));
  const auto only = rendezvous.join(0);
  CHECK(only->elastic() == nullptr);
  CHECK_THAT(error_text([&] { rendezvous.join(kNewcomer); }), contains("takes no newcomers"));
  CHECK(only->all_gather({}, 5s).size() == 1);
}

TEST_CASE("newcomer_that_is_too_early_comes_again_until_its_time_is_over") {
  Rendezvous rendezvous(2, 3);
  CHECK_THAT(
      error_text([&] { client_at(rendezvous.port(), kNewcomer, 0, "secret", "build", 200ms); }),
      contains("have not come"));
  const auto a = rendezvous.join(0);
  const auto b = rendezvous.join(1);
  introduce(*a);
  introduce(*b);
  CHECK(rendezvous.join(kNewcomer)->rank() == 2);
}

TEST_CASE("job_one_of_whose_founders_never_came_takes_no_newcomers") {
  Rendezvous rendezvous(2, 3);
  const auto a = rendezvous.join(0);
  introduce(*a);
  CHECK(next_line(*a) == "0 joined I am 0");
  rendezvous.end(1, false);
  CHECK(next_line(*a) == "1 failed the launcher says that it ended");
  CHECK_THAT(error_text([&] { rendezvous.join(kNewcomer); }),
             contains("cannot begin any more: rank 1"));
}

TEST_CASE("collectives_are_those_of_the_founders_alone") {
  Begun job(2, 3);
  const auto third = job.newcomer();
  introduce(*third);
  auto other = std::async(std::launch::async,
                          [&] { return job.members[1]->all_gather(bytes_of("b"), 10s); });
  CHECK(job.members[0]->all_gather(bytes_of("a"), 10s) ==
        std::vector<Bytes>{bytes_of("a"), bytes_of("b")});
  CHECK(other.get().size() == 2);
  // One that tries breaks the protocol, and has failed.
  CHECK_THAT(error_text([&] { third->all_gather({}, 5s); }), contains("closed the connection"));
  CHECK(next_lines(*job.members[0], 2).back() == "2 failed the launcher says that it ended");
}

TEST_CASE("first_one_to_be_accused_is_given_up_and_accuses_nobody_any_more") {
  Begun job(3, 3);
  job.members[0]->elastic()->accuse(1, "it is silent");
  CHECK(next_line(*job.members[2]) == "1 failed process 0 says: it is silent");
  job.members[1]->elastic()->accuse(0, "I hear nothing of it");
  job.members[1]->send(2, bytes_of("does anybody hear me?"));
  job.members[1]->goodbye();
  CHECK(next_line(*job.members[1]) == "1 failed process 0 says: it is silent");
  CHECK(next_line(*job.members[0]) == "1 failed process 0 says: it is silent");
  // Again, and the connection that closes: nothing is told twice.
  job.members[2]->elastic()->accuse(1, "me too");
  job.members[1].reset();
  for (const std::size_t member : {0, 2}) CHECK(next_line(*job.members[member], 100ms).empty());
  // Oneself, too.
  job.members[2]->elastic()->accuse(2, "I give up");
  CHECK(next_line(*job.members[0]) == "2 failed process 2 says: I give up");
}

TEST_CASE("accusation_of_one_that_said_goodbye_does_not_count") {
  Begun job(3, 3);
  job.members[1]->goodbye();
  job.members[1]->elastic()->accuse(0, "it is silent");
  CHECK(next_line(*job.members[2]) == "1 left ");
  job.members[1].reset();
  CHECK(next_line(*job.members[0]) == "1 left ");
  CHECK(next_line(*job.members[0], 100ms).empty());
  job.members[2]->elastic()->accuse(0, "I hear nothing of it");
  CHECK(next_line(*job.members[0]) == "0 failed process 2 says: I hear nothing of it");
}

TEST_CASE("accusing_one_who_never_was_breaks_the_protocol") {
  Begun job(2, 3);
  job.members[1]->elastic()->accuse(2, "nobody");
  CHECK(next_line(*job.members[0]) == "1 failed the launcher says that it ended");
}

TEST_CASE("end_of_the_launcher_is_told_as_the_number_behind_the_last") {
  auto job = std::make_unique<Begun>(1, 5);
  const auto member = std::move(job->members[0]);
  job.reset();
  CHECK(next_line(*member) == "5 failed ");
  CHECK_FALSE(member->next_failed());
}

TEST_CASE("all_members_hear_the_same_events_once_in_one_order") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  constexpr std::uint32_t kCapacity = 120;
  Begun job(2, kCapacity);
  std::vector<std::unique_ptr<Bootstrap>> others;
  std::size_t events = 2;
  for (std::uint32_t rank = 2; rank < kCapacity; ++rank) {
    others.push_back(job.newcomer());
    introduce(*others.back());
    ++events;
    if (others.size() < 3) continue;
    const std::size_t which = random() % others.size();
    Bootstrap& victim = *others[which];
    switch (random() % 3) {
      case 0:
        victim.goodbye();
        break;
      case 1:
        job.members[random() % 2]->elastic()->accuse(victim.rank(), "random");
        break;
      default:
        break;
    }
    // Those who end without goodbye have failed, unless they had failed before.
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(which));
    ++events;
  }
  // Of the founders, who have read the first ones, and of one who has just come.
  const std::vector<std::string> first = next_lines(*job.members[0], events - 2);
  CHECK(next_lines(*job.members[1], events - 2) == first);
  const std::vector<std::string> last = next_lines(*others.back(), events);
  CHECK(std::vector<std::string>(last.begin() + 2, last.end()) == first);
  for (Bootstrap* each : {job.members[0].get(), job.members[1].get(), others.back().get()}) {
    CHECK(next_line(*each, 50ms).empty());
  }
}
