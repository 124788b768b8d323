// SPDX-License-Identifier: MIT
// The text form of the adversarial mode's settings.
#include "dtutils/adversary.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"

namespace {

using dtutils::Adversary;
using dtutils::parse_adversary;
using support::contains;
using support::error_text;

std::string refusal_of_adversary(const char* text) {
  return error_text([&] { parse_adversary(text); });
}

}  // namespace

TEST_CASE("adversary_text_is_off_when_empty_zero_or_off") {
  CHECK(!parse_adversary(""));
  CHECK(!parse_adversary("0"));
  CHECK(!parse_adversary("off"));
}

TEST_CASE("adversary_text_takes_a_bare_number_as_the_seed") {
  const auto adversary = parse_adversary("18446744073709551615");
  REQUIRE(adversary);
  CHECK(adversary->seed == 18446744073709551615u);
  CHECK(adversary->max_delay_us == Adversary{}.max_delay_us);
  CHECK(adversary->rnr_every == Adversary{}.rnr_every);
  CHECK(adversary->break_after == 0);
  CHECK(adversary->kill_after == 0);
}

TEST_CASE("adversary_text_takes_any_subset_in_any_order") {
  const auto all = parse_adversary("seed=7,delay=5,rnr=3,break=1000,kill=9");
  REQUIRE(all);
  CHECK(all->seed == 7);
  CHECK(all->max_delay_us == 5);
  CHECK(all->rnr_every == 3);
  CHECK(all->break_after == 1000);
  CHECK(all->kill_after == 9);

  const auto some = parse_adversary("rnr=0,seed=0");
  REQUIRE(some);
  CHECK(some->seed == 0);
  CHECK(some->rnr_every == 0);
  CHECK(some->max_delay_us == Adversary{}.max_delay_us);

  const auto bare_first = parse_adversary("9,delay=0");
  REQUIRE(bare_first);
  CHECK(bare_first->seed == 9);
  CHECK(bare_first->max_delay_us == 0);
}

TEST_CASE("adversary_text_returns_what_was_printed") {
  const Adversary adversary{123, 45, 6, 7, 8};
  const auto again = parse_adversary(to_string(adversary));
  REQUIRE(again);
  CHECK(to_string(*again) == to_string(adversary));
  CHECK(to_string(adversary) == "seed=123,delay=45,rnr=6,break=7,kill=8");
}

TEST_CASE("adversary_text_quotes_what_it_cannot_read") {
  CHECK_THAT(refusal_of_adversary("seed=7,dela=3"), contains("\"dela=3\" has none of the keys"));
  CHECK_THAT(refusal_of_adversary("on"), contains("\"on\" is not a number"));
  CHECK_THAT(refusal_of_adversary("seed="), contains("\"seed=\" is not a number"));
  CHECK_THAT(refusal_of_adversary("seed=-1"), contains("\"seed=-1\" is not a number"));
  CHECK_THAT(refusal_of_adversary("seed=7x"), contains("\"seed=7x\" is not a number"));
  CHECK_THAT(refusal_of_adversary("seed=7,"), contains("\"\" is not a number"));
  CHECK_THAT(refusal_of_adversary("delay=4294967296"), contains("is larger than 4294967295"));
  CHECK_THAT(refusal_of_adversary("seed=18446744073709551616"), contains("is larger than"));
  CHECK_THAT(refusal_of_adversary("rnr=1,rnr=2"),
             contains("\"rnr=2\" sets the same key a second time"));
  CHECK_THAT(refusal_of_adversary("3,seed=2"), contains("second time"));
  CHECK_THAT(refusal_of_adversary("bad"), contains("write a seed"));
}
