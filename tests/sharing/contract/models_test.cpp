// SPDX-License-Identifier: MIT
// Each model keeps its promise, and the next weaker one breaks it under the same check.
#include <atomic>
#include <chrono>

#include "sharing/support/sharing_job.hpp"

using namespace sharing;
using namespace support;
using std::chrono::milliseconds;

namespace {

/// The clock of kTemporal in this process: the tests set it.
std::atomic<std::int64_t> test_time{0};
std::chrono::nanoseconds test_clock() { return std::chrono::nanoseconds(test_time.load()); }

std::uint64_t got(const Sharer& here, const Datum& datum, std::uint64_t* version = nullptr) {
  Words words;
  require_done(here.client.get(datum, words.bytes(), version), "get");
  require(words.whole(), "one value as a whole");
  return words.word[0];
}
void put_value(const Sharer& here, const Datum& datum, std::uint64_t value) {
  require_done(here.client.put(datum, Words::of(value).bytes()), "put");
}

/// What is wrong with a model as that of the check's name: "" when it keeps the promise.
using Check = std::function<std::string(const Sharer&, const Datum&)>;

constexpr milliseconds kAge{10};

/// kTemporal: a value that was replaced is not given for longer than kAge.
std::string too_old(const Sharer& here, const Datum& datum) {
  std::string wrong;
  if (here.member.rank == 0) {
    put_value(here, datum, 1);
    (void)got(here, datum);
  }
  here.self.barrier();
  if (here.member.rank == 1) put_value(here, datum, 2);
  here.self.barrier();
  if (here.member.rank == 0) {
    test_time += std::chrono::nanoseconds(kAge).count() + 1;
    if (got(here, datum) != 2) wrong = "too old";
  }
  return wrong;
}

constexpr std::uint32_t kBehind = 3;

/// kDelta: at most kBehind puts that have returned are newer, whatever time it is.
std::string too_far_behind(const Sharer& here, const Datum& datum) {
  std::string wrong;
  for (std::uint64_t value = 1; value < 20; ++value) {
    if (here.member.rank == 1) put_value(here, datum, value);
    here.self.barrier();
    if (here.member.rank == 0 && got(here, datum) + kBehind < value) wrong = "too far behind";
    here.self.barrier();
  }
  return wrong;
}

/// kRead: the newest, and nobody else gets meanwhile.
std::string read_with_others(const Sharer& here, const Datum& datum) {
  std::string wrong;
  if (here.member.rank == 1) put_value(here, datum, 5);
  here.self.barrier();
  if (got(here, datum) != 5) wrong = "not the newest";
  here.self.barrier();
  std::optional<Hold> hold;
  if (here.member.rank == 0) hold.emplace(here.client, datum, Hold::kGet);
  here.self.barrier();
  Words words;
  if (here.member.rank == 1 &&
      here.client.get(datum, words.bytes(), nullptr, Wait::kTry) != Status::kBusy) {
    wrong = "two at once";
  }
  here.self.barrier();
  return wrong;
}

/// kWrite: nobody puts while another one gets.
std::string written_meanwhile(const Sharer& here, const Datum& datum) {
  std::string wrong;
  std::optional<Hold> hold;
  if (here.member.rank == 0) hold.emplace(here.client, datum, Hold::kGet);
  here.self.barrier();
  if (here.member.rank == 1 &&
      here.client.put(datum, Words::of(1).bytes(), Wait::kTry) != Status::kBusy) {
    wrong = "written meanwhile";
  }
  here.self.barrier();
  return wrong;
}

/// kStrict: both.
std::string not_alone(const Sharer& here, const Datum& datum) {
  return read_with_others(here, datum) + written_meanwhile(here, datum);
}

/// What all processes together have found wrong.
std::string in_a_job(const Check& check, const Model& model, std::uint16_t home) {
  SpaceOptions options = small_space();
  options.clock = test_clock;
  std::string wrong;
  ForkJob job(2, [&](Member& member) {
    const auto run_check = [&](Sharer& here) {
      const Datum datum = here.shared("data", model, home);
      const std::string found = check(here, datum);
      if (!found.empty()) member.memory.words[0] = 1;
      here.self.barrier();
    };
    as_sharer(member, run_check, options);
  });
  wrong = job.wait();
  if (wrong.empty() && job.memory().words[0] != 0) wrong = "broken";
  return wrong;
}

}  // namespace

TEST_CASE("each_model_keeps_its_promise_and_the_next_weaker_one_does_not") {
  for (const std::uint16_t home : {0, 1}) {
    CAPTURE(home);
    CHECK(in_a_job(too_old, temporal(kAge), home) == "");
    CHECK(in_a_job(too_old, null(), home) == "broken");
    CHECK(in_a_job(too_far_behind, delta(kBehind), home) == "");
    CHECK(in_a_job(too_far_behind, delta(kBehind + 1), home) == "broken");
    CHECK(in_a_job(too_far_behind, temporal(kAge), home) == "broken");
    CHECK(in_a_job(read_with_others, read(), home) == "");
    CHECK(in_a_job(read_with_others, delta(0), home) == "broken");
    CHECK(in_a_job(written_meanwhile, write(), home) == "");
    CHECK(in_a_job(written_meanwhile, read(), home) == "broken");
    CHECK(in_a_job(not_alone, strict(), home) == "");
    CHECK(in_a_job(not_alone, write(), home) == "broken");
  }
}

TEST_CASE("gets_that_are_fresh_enough_make_no_network_operation_and_a_host_has_one_cache") {
  SpaceOptions options = small_space();
  options.clock = test_clock;
  CHECK(share(
            3,
            [](Sharer& here) {
              const Datum datum = here.shared("delta", delta(1), 2);
              const Datum timed = here.shared("temporal", temporal(kAge), 2);
              if (here.member.rank == 0) {
                (void)got(here, datum);
                (void)got(here, timed);
                require_equal(here.client.counters().fetches, 2u, "the first fetch");
                for (int i = 0; i < 5; ++i) {
                  (void)got(here, datum);
                  (void)got(here, timed);
                }
                require_equal(here.client.counters().fetches, 2u, "and no other one");
              }
              here.self.barrier();
              if (here.member.rank == 1) {
                // Another process of the host has fetched them already.
                (void)got(here, datum);
                (void)got(here, timed);
                require_equal(here.client.counters().hits, 2u, "hits");
              }
              here.self.barrier();
              if (here.member.rank == 2) put_value(here, datum, 1);
              here.self.barrier();
              require(got(here, datum) <= 1, "one behind is near enough");
              here.self.barrier();
              if (here.member.rank == 2) put_value(here, datum, 2);
              here.self.barrier();
              std::uint64_t version = 0;
              const std::uint64_t value = got(here, datum, &version);
              require_equal(value, version, "the version is that of the put");
              require(version >= 1, "two behind is too far");
            },
            options) == "");
}

TEST_CASE("clocks_of_different_processes_may_be_apart_and_go_back") {
  SpaceOptions options = small_space();
  options.clock = test_clock;
  CHECK(share(
            2,
            [](Sharer& here) {
              const Datum datum = here.shared("data", temporal(kAge), 1);
              // Years apart: each put is in time for the getter's own clock.
              test_time = here.member.rank == 0 ? 1'000'000'000'000'000'000 : 7;
              for (std::uint64_t value = 1; value < 10; ++value) {
                if (here.member.rank == 1) put_value(here, datum, value);
                here.self.barrier();
                if (here.member.rank == 0) {
                  test_time += std::chrono::nanoseconds(kAge).count() + 1;
                  require_equal(got(here, datum), value, "value");
                }
                here.self.barrier();
                // It has been fetched in the future of this clock: that is no age.
                if (here.member.rank == 1) {
                  put_value(here, datum, 100 + value);
                  require_equal(got(here, datum), 100 + value, "value");
                }
                here.self.barrier();
              }
            },
            options) == "");
}

TEST_CASE("what_is_held_for_a_put_is_changed_as_one") {
  for (const Model& model : {temporal(kAge), delta(0), read(), write(), strict()}) {
    CHECK(share(3, [&](Sharer& here) {
            const Datum datum = here.shared("sum", model, 1);
            for (int i = 0; i < 50; ++i) {
              Hold hold(here.client, datum, Hold::kPut);
              Words words;
              require_done(hold.get(words.bytes()), "get");
              require(words.whole(), "whole");
              require_done(hold.put(Words::of(words.word[0] + 1).bytes()), "put");
            }
            here.self.barrier();
            Hold hold(here.client, datum, Hold::kGet);
            Words words;
            std::uint64_t version = 0;
            require_done(hold.get(words.bytes(), &version), "get");
            require_equal(words.word[0], 150u, "all are counted");
            require_equal(version, 150u, "and so are the versions");
          }) == "");
  }
}
